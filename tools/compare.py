#!/usr/bin/env python3
"""Measures muffle beside PyTorch and Opacus in one run and prints the ratios as a Markdown table.

  compare.py [--muffle target/release/muffle] [--rounds 3] [--seconds 5] [--workloads w1 w2 w3 w4 w5 w6 w7 w8] [--threads 2]

Run it with a Python that has torch and opacus. Modes take turns within a round, so that a slow minute of a shared
machine hits all of them; every figure is the median of its rounds. Opacus modes run in the first round only.
"""
import argparse, json, os, statistics, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
IMAGES = ["w1", "w2", "w4", "w8"]
TEXTS = ["w5", "w6", "w7"]
OPACUS = ["opacus_hooks", "opacus_ghost", "opacus_functorch", "opacus_ew"]


def line(command):
    out = subprocess.run(command, capture_output=True, text=True)
    if out.returncode != 0 or not out.stdout.strip():
        return {"error": (out.stderr or "no output").strip()[-200:]}
    return json.loads(out.stdout.strip().splitlines()[-1])


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--muffle", default="target/release/muffle")
    a.add_argument("--rounds", type=int, default=3)
    a.add_argument("--seconds", type=float, default=5)
    a.add_argument("--threads", type=int, default=2)
    a.add_argument("--workloads", nargs="+", default=["w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8"])
    a.add_argument("--no-opacus", action="store_true")
    a = a.parse_args()
    rates, memory = {}, {}

    def note(workload, mode, found):
        if "samples_per_s" in found:
            rates.setdefault((workload, mode), []).append(found["samples_per_s"])
            memory[workload, mode] = found.get("peak_rss_mb")
        else:
            print(f"{workload} {mode}: {found.get('error')}", file=sys.stderr)

    common = ["--seconds", str(a.seconds), "--threads", str(a.threads)]
    peers = [sys.executable, os.path.join(HERE, "peers.py")]
    for turn in range(a.rounds):
        for workload in a.workloads:
            bench = [a.muffle, "bench", "--json", "--workload", workload] + common
            note(workload, "private", line(bench))
            note(workload, "plain", line(bench + ["--plain"]))
            for mode in ["torch", "torch_cl"] if workload in IMAGES else ["torch"]:
                note(workload, mode, line(peers + [workload, mode] + common))
            if turn == 0 and not a.no_opacus and workload not in TEXTS:
                for mode in OPACUS:
                    note(workload, mode, line(peers + [workload, mode] + common))
                    if workload in IMAGES:
                        note(workload, mode + " cl", line(peers + [workload, mode, "--channels-last"] + common))
    middle = {key: statistics.median(values) for key, values in rates.items()}
    for key in sorted(middle):
        print(json.dumps({"workload": key[0], "mode": key[1], "samples_per_s": round(middle[key], 1),
                          "rounds": [round(value, 1) for value in rates[key]], "peak_rss_mb": memory[key]}))

    def best(workload, prefix):
        found = [(rate, mode) for (w, mode), rate in middle.items() if w == workload and mode.startswith(prefix)]
        return max(found, default=(float("nan"), "-"))

    print("\n| | " + " | ".join(w.upper() for w in a.workloads) + " |\n|" + "---|" * (len(a.workloads) + 1))
    rows = [("muffle private, examples/s", lambda w: f"{middle[w, 'private']:,.0f}"),
            ("muffle plain, examples/s", lambda w: f"{middle[w, 'plain']:,.0f}"),
            ("PyTorch not private, faster format", lambda w: "{:,.0f} ({})".format(*best(w, "torch"))),
            ("Opacus, best mode", lambda w: "{:,.0f} ({})".format(*best(w, "opacus"))),
            ("private / PyTorch not private", lambda w: f"{middle[w, 'private'] / best(w, 'torch')[0]:.2f}x"),
            ("private / Opacus", lambda w: f"{middle[w, 'private'] / best(w, 'opacus')[0]:.1f}x"),
            ("time of private / own plain", lambda w: f"{middle[w, 'plain'] / middle[w, 'private']:.2f}x"),
            ("peak memory private, MB", lambda w: f"{memory[w, 'private']:.0f}")]
    for name, cell in rows:
        print(f"| {name} | " + " | ".join(cell(w) for w in a.workloads) + " |")


if __name__ == "__main__":
    main()
