#!/usr/bin/env python3
"""Counts settings whose certified bracket stays wider than 0.5 % and 0.002, and fails on one that is no bracket.

  brackets.py [--muffle target/release/muffle] [--cases 200] [--seed 1] [--adjacency add_remove] [--sampling poisson]

Settings are spread evenly in the logarithm over rates 1e-7 to 1, noise 0.2 to 200, 1 to 10 million steps and delta 1e-15
to 0.5. The last line gives the widest bracket, as a multiple of what is allowed, and the slowest command.
"""
import argparse, json, math, random, subprocess, sys, time


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--muffle", default="target/release/muffle")
    a.add_argument("--cases", type=int, default=200)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--adjacency", default="add_remove", choices=["add_remove", "zero_out", "replace_one"])
    a.add_argument("--sampling", default="poisson", choices=["poisson", "fixed-size"])
    a = a.parse_args()
    random.seed(a.seed)
    wide = wrong = 0
    widest = slowest = 0.0
    for _ in range(a.cases):
        rate = 10 ** random.uniform(-7, 0)
        noise = 10 ** random.uniform(math.log10(0.2), math.log10(200))
        steps = int(10 ** random.uniform(0, 7))
        delta = 10 ** random.uniform(-15, math.log10(0.5))
        setting = f"--noise-multiplier {noise!r} --sample-rate {rate!r} --steps {steps} --delta {delta!r}"
        how = ["--accountant", "pld", "--adjacency", a.adjacency, "--sampling", a.sampling]
        start = time.monotonic()
        out = subprocess.run([a.muffle, "account", "--json"] + how + setting.split(), capture_output=True, text=True)
        slowest = max(slowest, time.monotonic() - start)
        price = json.loads(out.stdout)["epsilon"] if out.returncode == 0 else {}
        upper, lower = price.get("pld"), price.get("pld_lower")
        if upper is None or lower is None or not 0 <= lower <= upper:
            wrong += 1
            print(f"no bracket: {setting}: {out.stderr.strip() or (lower, upper)}")
            continue
        width = (upper - lower) / max(0.002, 0.005 * lower)
        widest = max(widest, width)
        if width > 1:
            wide += 1
            print(f"wide: {setting}: [{lower}, {upper}]")
    print(f"{a.cases} settings: {wide} wide, {wrong} without a bracket; widest {widest:.2f}, slowest {slowest:.2f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
