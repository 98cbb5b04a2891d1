#!/usr/bin/env python3
"""Sends a run of Gyre to Weights & Biases, after training or while it goes on. It needs Python 3.11 and the package
wandb.

    tools/scripts/wandb_sync.py run/ --offline  # then: wandb sync wandb/offline-run-*
    tools/scripts/wandb_sync.py run/ --follow --project novels

Charts have the number of updates on their horizontal axis."""
import argparse

import gyre_run
import wandb


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", help="run directory of gyre train")
    parser.add_argument("--project", default="gyre")
    parser.add_argument("--name", help="name of the run; default: that of its directory")
    parser.add_argument("--offline", action="store_true", help="write to ./wandb only, for a later wandb sync")
    parser.add_argument("--follow", action="store_true", help="send entries as they are written, until the run ends")
    args = parser.parse_args()
    run = gyre_run.Run(args.run)
    sent = wandb.init(project=args.project, name=args.name or run.name, config=run.options(),
                      mode="offline" if args.offline else None)
    sent.define_metric("updates")
    sent.define_metric("*", step_metric="updates")
    try:
        for entry in run.follow() if args.follow else run.entries():
            if figures := gyre_run.figures(entry):
                sent.log({"updates": entry["updates"], **figures})
            if entry["event"] == "end":
                sent.summary["reason"] = entry["reason"]
                for name, value in entry["best"].items():
                    sent.summary[f"best/{name}"] = value
    except KeyboardInterrupt:
        pass
    sent.finish()


main()
