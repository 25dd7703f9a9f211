"""The commands, one file each: functions from arguments to text and exit code. `main.py` prints."""
