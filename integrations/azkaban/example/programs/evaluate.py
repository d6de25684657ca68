"""Checks the line that was trained.

evaluate.py MODEL
"""

import json
import pathlib
import sys

line = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
print(f"y = {line['slope']:.2f} x {line['offset']:+.2f}")
sys.exit(0 if abs(line["slope"] - 3) < 0.1 and abs(line["offset"] + 1) < 0.1 else 1)
