#!/usr/bin/python3
"""Runs the tests of test/api: those of the daemon's API and of its clients.  Options: those of test/run.py."""

import os
import pathlib
import sys

runner = pathlib.Path(__file__).resolve().parent.parent / "run.py"
os.execv(sys.executable, [sys.executable, str(runner), "--suite", "api", *sys.argv[1:]])
