#!/usr/bin/env python3
"""Sends a run of Gyre to MLflow, after training or while it goes on. It needs Python 3.11 and the package mlflow; for
a server, mlflow-skinny suffices.

    tools/scripts/mlflow_sync.py run/ --tracking-uri sqlite:///mlflow.db  # a file; then: mlflow ui
    tools/scripts/mlflow_sync.py run/ --follow --experiment novels

Steps are numbers of updates, and times are those of the entries."""
import argparse

import gyre_run
from mlflow.entities import Metric, Param
from mlflow.tracking import MlflowClient

MOST_PARAMS, LONGEST_PARAM = 100, 500  # of a batch, and of a value, which every server accepts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", help="run directory of gyre train")
    parser.add_argument("--experiment", default="gyre")
    parser.add_argument("--name", help="name of the run; default: that of its directory")
    parser.add_argument("--tracking-uri", help="server, folder or database; default: MLflow's own default")
    parser.add_argument("--follow", action="store_true", help="send entries as they are written, until the run ends")
    args = parser.parse_args()
    run = gyre_run.Run(args.run)
    client = MlflowClient(args.tracking_uri)
    experiment = client.get_experiment_by_name(args.experiment)
    experiment_id = experiment.experiment_id if experiment else client.create_experiment(args.experiment)
    sent, end = None, None
    try:
        for entry in run.follow() if args.follow else run.entries():
            time = gyre_run.milliseconds(entry)
            if sent is None:
                sent = client.create_run(experiment_id, start_time=time, run_name=args.name or run.name).info.run_id
                params = [Param(name, str(value)[:LONGEST_PARAM]) for name, value in run.options().items()]
                for first in range(0, len(params), MOST_PARAMS):
                    client.log_batch(sent, params=params[first:first + MOST_PARAMS])
            metrics = [Metric(name, value, time, entry["updates"]) for name, value in gyre_run.figures(entry).items()]
            if metrics:
                client.log_batch(sent, metrics=metrics)
            if entry["event"] == "end":
                client.set_tag(sent, "reason", entry["reason"])
                end = time
    except KeyboardInterrupt:
        pass
    if sent is not None:
        client.set_terminated(sent, "FINISHED" if end else "KILLED", end)


main()
