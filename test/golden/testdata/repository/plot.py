"""Draws the curve of a firing."""

import csv


def read_log(path):
    """Read the log of a firing: a line has seconds and degrees."""
    with open(path) as log:
        return [(float(seconds), float(degrees)) for seconds, degrees in csv.reader(log)]


def smooth(points, window=15):
    """Average each point with those of the last quarter of an hour, to take out the relay's clicks."""
    out = []
    for at, (seconds, _) in enumerate(points):
        near = [degrees for other, degrees in points[: at + 1] if seconds - other <= window * 60]
        out.append((seconds, sum(near) / len(near)))
    return out
