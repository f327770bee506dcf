"""Reads what the watcher saw and turns it into numbers for the two classifiers."""

import json

import numpy as np

MAX_EXCHANGES = 2
SEQUENCE_LENGTH = 512
SIZE_CLASSES = 24


def load(path, mode):
    with open(path, encoding="utf-8") as lines:
        all_of_them = (json.loads(line) for line in lines if f'"mode":"{mode}"' in line)
        return [one for one in all_of_them if one["mode"] == mode]


def size_classes(frames):
    """Lengths against the shortest frame of an answer: with shaping off, a token's length and no more."""
    sizes = np.array([size for _, size in frames], dtype=np.float64)
    return np.clip(sizes - sizes.min(), 0, SIZE_CLASSES - 1).astype(int)


def gaps(frames):
    times = np.array([at for at, _ in frames], dtype=np.float64)
    return np.maximum(np.diff(times, prepend=times[:1]), 0)


def exchange_features(exchange):
    frames = exchange["frames"]
    sizes = np.array([size for _, size in frames], dtype=np.float64)
    times = np.array([at for at, _ in frames])
    between = gaps(frames)
    classes = size_classes(frames)
    unigrams = np.bincount(classes, minlength=SIZE_CLASSES) / len(classes)
    coarse = np.minimum(classes, 9)
    bigrams = np.zeros((10, 10))
    np.add.at(bigrams, (coarse[:-1], coarse[1:]), 1 / max(1, len(coarse) - 1))
    triples = np.bincount((coarse[:-2] * 100 + coarse[1:-1] * 10 + coarse[2:]) % 251, minlength=251)
    histogram = np.histogram(between, bins=[0, 2, 5, 10, 15, 20, 25, 30, 40, 60, 100, 1e9])[0]
    return np.concatenate(
        [
            [exchange["requestLength"], exchange["upBytes"], exchange["downBytes"]],
            [len(frames), times[0], times[-1], times[-1] - times[0], sizes.sum(), sizes.max()],
            np.percentile(between, [5, 25, 50, 75, 95]),
            [between.mean(), between.std(), sizes.mean(), sizes.std()],
            histogram / len(frames),
            unigrams,
            bigrams.ravel(),
            triples / len(frames),
            classes_at_start(classes),
        ]
    )


def classes_at_start(classes, count=24):
    start = np.full(count, -1)
    start[: min(count, len(classes))] = classes[:count]
    return start


def bill_features(exchange):
    """What the gateway reads in the usage record, whatever the shape: exact counts of tokens."""
    return np.array([exchange["promptTokens"], len(exchange["tokenLengths"])])


def table(observations, of_exchange):
    """One row for each conversation; exchanges that were not there are missing values."""
    width = len(of_exchange(observations[0]["exchanges"][0]))
    rows = np.full((len(observations), 1 + MAX_EXCHANGES * width), np.nan)
    for row, observation in zip(rows, observations):
        row[0] = len(observation["exchanges"])
        for index, exchange in enumerate(observation["exchanges"][:MAX_EXCHANGES]):
            row[1 + index * width : 1 + (index + 1) * width] = of_exchange(exchange)
    return rows


def sequences(observations):
    """Frames in order: class of size, time since the one before, where a request was sent."""
    channels = SIZE_CLASSES + 4
    tensor = np.zeros((len(observations), SEQUENCE_LENGTH, channels), dtype=np.float32)
    for sample, observation in zip(tensor, observations):
        at = 0
        for exchange in observation["exchanges"]:
            frames = exchange["frames"]
            take = min(len(frames), SEQUENCE_LENGTH - at)
            if take <= 0:
                break
            steps = np.arange(at, at + take)
            sample[steps, size_classes(frames)[:take]] = 1
            sample[steps, SIZE_CLASSES] = np.log1p(gaps(frames)[:take]) / 4
            sample[at, SIZE_CLASSES + 1] = np.log(exchange["requestLength"]) / 10
            sample[at, SIZE_CLASSES + 2] = np.log1p(frames[0][0]) / 6
            sample[steps, SIZE_CLASSES + 3] = 1
            at += take
    return tensor
