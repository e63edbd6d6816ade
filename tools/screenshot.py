"""Draws what a command prints on a terminal as an SVG file.

    python tools/screenshot.py docs/train.svg muffle train --seed 1

Lines of a progress bar are overwritten as a terminal would; the last state stays.
"""

import html
import os
import pty
import re
import sys

COLUMNS = 118


def run(command):
    """Everything the command writes to a terminal."""
    output = bytearray()

    def read(descriptor):
        data = os.read(descriptor, 1 << 16)
        output.extend(data)
        return data

    os.environ["COLUMNS"] = str(COLUMNS)
    pty.spawn(["sh", "-c", f'stty cols {COLUMNS}; exec "$@"', "sh", *command], read)
    return output.decode("utf-8", "replace")


def lines(text):
    """The lines that remain on the screen."""
    screen = []
    for line in text.replace("\r\n", "\n").split("\n"):
        states = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", state).rstrip() for state in line.split("\r")]
        screen.append(next((state for state in reversed(states) if state), ""))
    while screen and not screen[-1]:
        screen.pop()
    return screen


def draw(command, screen):
    """An SVG image of a terminal."""
    shown = ["$ " + " ".join(command)] + screen
    width, height = 16 + 7.8 * max(map(len, shown)), 20 + 18 * len(shown)
    rows = "".join(
        f'<text x="10" y="{26 + 18 * row}" xml:space="preserve">{html.escape(line)}</text>' for row, line in enumerate(shown)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}">'
        '<rect width="100%" height="100%" rx="6" fill="#1c1f26"/>'
        f'<g font-family="ui-monospace,Menlo,Consolas,monospace" font-size="13" fill="#d8dee9">{rows}</g></svg>\n'
    )


def main():
    path, command = sys.argv[1], sys.argv[2:]
    screen = lines(run(command))
    with open(path + ".partial", "w", encoding="utf-8") as file:
        file.write(draw([os.path.basename(command[0]), *command[1:]], screen))
    os.replace(path + ".partial", path)


if __name__ == "__main__":
    main()
