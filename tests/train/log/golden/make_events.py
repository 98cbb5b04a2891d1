#!/usr/bin/env python3
"""Writes events.hex: an event file made by TensorBoard's classes (2.21.0). Run: python3 make_events.py > events.hex

`make_events.py FOLDER` instead reads the event files in FOLDER with TensorBoard and prints the scalars that it shows."""

import io
import sys

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

WALL_TIME = 1700000000.25


def scalar(tag, value, step):
    return Event(wall_time=WALL_TIME, step=step, summary=Summary(value=[Summary.Value(tag=tag, simple_value=value)]))


def write():
    class Kept(io.BytesIO):
        def close(self):
            pass

    file = Kept()
    writer = RecordWriter(file)
    for event in [
        Event(wall_time=WALL_TIME, file_version="brain.Event:2"),
        scalar("train/loss", 9.125, 0),
        scalar("train/loss", 0.1, 1),
        scalar("zero", 0.0, 127),
        scalar("überlange/" + "x" * 200, -1e30, 128),
        scalar("inf", float("inf"), 3_000_000_000_000),
        Event(wall_time=WALL_TIME, step=129, session_log=SessionLog(status=SessionLog.START)),
        scalar("negative step", 1.0, -1),
    ]:
        writer.write(event.SerializeToString())
    text = file.getvalue().hex()
    print("\n".join(text[i:i + 120] for i in range(0, len(text), 120)))


def read(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(folder)
    events.Reload()
    for tag in events.Tags()["scalars"]:
        print(tag, [(point.step, point.value) for point in events.Scalars(tag)])


if len(sys.argv) > 1:
    read(sys.argv[1])
else:
    write()
