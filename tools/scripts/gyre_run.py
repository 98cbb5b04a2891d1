"""Reads the directory of a training run of Gyre with Python's standard library alone, for wandb_sync.py and
mlflow_sync.py. tools/docs/reading_a_run.md describes the files."""
import datetime
import json
import time
import tomllib
from pathlib import Path

EVENTS = ("train", "valid")


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def figures(entry):
    """The figures of an entry of training or validation by name, such as "train/loss". One that was not finite is null
    in the file, and left out."""
    event = entry["event"]
    if event not in EVENTS:
        return {}
    return {f"{event}/{name}": value for name, value in entry.items() if name != "updates" and is_number(value)}


def milliseconds(entry):
    """The time of an entry since 1970."""
    return int(datetime.datetime.fromisoformat(entry["time"]).timestamp() * 1000)


def flat(values, prefix=""):
    """Nested objects as one, with names such as position.rope_base."""
    result = {}
    for name, value in values.items():
        if isinstance(value, dict):
            result |= flat(value, f"{prefix}{name}.")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for number, item in enumerate(value, 1):
                result |= flat(item, f"{prefix}{name}.{number}.")
        else:
            result[prefix + name] = value
    return result


class Run:
    def __init__(self, directory):
        self.directory = Path(directory)
        self.metrics = self.directory / "metrics.jsonl"
        if not self.metrics.is_file():
            raise SystemExit(f"expected the directory of a run, found no metrics.jsonl in {directory}")

    @property
    def name(self):
        return self.directory.resolve().name

    def options(self):
        """The options of train.toml, and the architecture of config.json with the prefix "model."."""
        options = {}
        if (toml := self.directory / "train.toml").is_file():
            options |= flat(tomllib.loads(toml.read_text()))
        if (config := self.directory / "config.json").is_file():
            options |= flat(json.loads(config.read_text()), "model.")
        return options

    def entries(self):
        """All valid entries in order: a run that returned to a checkpoint has dropped those after it."""
        kept = []
        for line in self.metrics.read_text().splitlines(keepends=True):
            if not line.endswith("\n"):
                break  # it is being written
            entry = json.loads(line)
            if entry["event"] == "resume":
                kept = [earlier for earlier in kept if earlier.get("updates", 0) <= entry["updates"]]
            kept.append(entry)
        return kept

    def follow(self, seconds=2):
        """Entries as they are written, until the end of a job. After a return to a checkpoint, entries come again."""
        with open(self.metrics) as file:
            part, last = "", None
            while True:
                line = file.readline()
                if line:
                    part += line
                    if part.endswith("\n"):
                        last, part = json.loads(part), ""
                        yield last
                elif last is not None and last["event"] == "end":
                    return
                else:
                    time.sleep(seconds)
