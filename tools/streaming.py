#!/usr/bin/env python3
"""How fast `muffle predict` answers the rows of a large table, and in how much memory.

    tools/streaming.py [--muffle target/release/muffle] [--rows 10000000] [--hidden 16]

Makes a table of 20 columns of numbers, trains a small network for a few steps, answers the table, and prints rows a second
and the largest resident memory of the process. Nothing is left behind.
"""

import argparse
import json
import os
import random
import subprocess
import tempfile
import time
from pathlib import Path

COLUMNS = 20
# The rows of one piece, which is written again and again: only reading is measured.
PIECE = 20_000


def piece(random):
    rows = []
    for _ in range(PIECE):
        rows.append(",".join(f"{random.random() * 100:.4f}" for _ in range(COLUMNS)))
    return "\n".join(rows) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--muffle", default="target/release/muffle")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--hidden", type=int, default=0, help="neurons of a hidden layer; 0 for logistic regression")
    arguments = parser.parse_args()
    muffle = str(Path(arguments.muffle).resolve())
    source = random.Random(1)
    names = [f"x{column}" for column in range(COLUMNS)]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        header, body = ",".join(names) + "\n", piece(source)
        labelled = [line + "," + source.choice(["no", "yes"]) for line in body.splitlines()[:1000]]
        Path("small.csv").write_text(header.strip() + ",answer\n" + "\n".join(labelled) + "\n")
        columns = ",\n".join(f'{{ name = "{name}", range = [0, 100] }}' for name in names)
        Path("small.toml").write_text(
            'format = "csv"\npath = "small.csv"\ntest_fraction = 0.2\nlabel = "answer"\n'
            f'classes = ["no", "yes"]\ncolumns = [{columns}]\n'
        )
        hidden = f'{{ type = "dense", features = {arguments.hidden} }}, {{ type = "relu" }}, '
        layers = (hidden if arguments.hidden else "") + '{ type = "dense", features = 2 }'
        Path("recipe.toml").write_text(
            f'data = "small.toml"\nmodel = {{ layers = [{layers}] }}\nepsilon = 4\nsteps = 20\nbatch_size = 50\n'
            'records = 800\nlearning_rate = 0.5\nclip = { kind = "flat", threshold = 1.0 }\n'
        )
        subprocess.run([muffle, "train", "recipe.toml", "--quiet", "--output", "run"], check=True, stdout=subprocess.DEVNULL)
        pieces = max(1, arguments.rows // PIECE)
        with open("large.csv", "w") as large:
            large.write(header)
            for _ in range(pieces):
                large.write(body)
        size = os.path.getsize("large.csv")
        begun = time.perf_counter()
        command = [muffle, "predict", "run", "--data", "large.csv", "--output", "scores.csv", "--json"]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        answer = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begun
        records = json.loads(answer)["records"]
        assert status == 0 and records == pieces * PIECE, (status, answer)
        assert sum(1 for _ in open("scores.csv")) == records + 1
        print(
            f"{records} rows of {COLUMNS} columns ({size / 1e6:.0f} MB) in {seconds:.1f} s: {records / seconds:,.0f} rows/s, "
            f"{usage.ru_utime + usage.ru_stime:.1f} s of processor time, {usage.ru_maxrss / 1024:.0f} MB at most"
        )


main()
