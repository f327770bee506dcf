"""wire_attack.py SAMPLES RESULTS: guesses topic and number of tokens from packets on the network.

Three kinds of classifier (boosted trees, random forest, logistic regression), five folds, intervals by
resampling. Beside each figure is what the class of the answer's length alone tells an ideal attacker.
"""

import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor

# One thread for each of the processes below; set before the libraries are loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

FOLDS = 5
LEAST_PER_TOPIC = 2
RESAMPLES = 200


def features(sample):
    packets = np.array(sample["packets"], dtype=float).reshape(-1, 3)
    answer = packets[packets[:, 2] == 1]
    if len(answer) == 0:
        answer = np.zeros((1, 3))
    times, sizes = answer[:, 0], answer[:, 1]
    gaps = np.diff(times, prepend=times[:1])
    reset = sample["resetMs"]
    return np.concatenate([
        [len(answer), sizes.sum(), np.log1p(sizes.sum()), times[0], times[-1], np.log1p(times[-1])],
        [times[-1] - times[0], packets[packets[:, 2] == 0][:, 1].sum(), sizes.max()],
        [sample.get("firstRequestBytes", 0)],
        [-1 if reset is None else reset, -1 if reset is None else np.log1p(reset)],
        np.percentile(sizes, [5, 25, 50, 75, 95]),
        np.percentile(gaps, [5, 25, 50, 75, 95]),
        np.histogram(sizes, bins=[0, 64, 128, 192, 224, 240, 256, 320, 512, 1024, 2048, 1e9])[0] / len(sizes),
    ])


def classifiers():
    return {
        "trees": lambda: HistGradientBoostingClassifier(
            max_iter=40, max_leaf_nodes=6, min_samples_leaf=6, l2_regularization=1.0
        ),
        "forest": lambda: RandomForestClassifier(60, min_samples_leaf=3, random_state=1),
        "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(C=0.3, max_iter=2000)),
    }


def average_precision(hits, scores):
    """Area under the precision-recall curve as steps, equal scores together; far faster than the library's."""
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.nonzero(np.diff(scores[order]))[0], len(scores) - 1)
    found = np.cumsum(hits[order])[ends]
    return np.sum(np.diff(found, prepend=0) / found[-1] * found / (ends + 1))


def area(labels, scores):
    return np.mean([average_precision(labels == topic, scores[:, topic]) for topic in np.unique(labels)])


def interval(measure, count, rng):
    values = []
    for _ in range(RESAMPLES):
        try:
            values.append(measure(rng.integers(0, count, count)))
        except ValueError:
            continue
    low, high = np.nanpercentile(values, [2.5, 97.5])
    return {"low": float(low), "high": float(high)}


def guess_topics(rows, labels, make):
    scores = np.zeros((len(labels), labels.max() + 1))
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=1).split(rows, labels):
        model = make().fit(rows[train], labels[train])
        scores[np.ix_(test, model.classes_)] = model.predict_proba(rows[test])
    return scores


def guess_tokens(rows, logs):
    guessed = np.zeros(len(logs))
    for train, test in KFold(FOLDS, shuffle=True, random_state=1).split(rows):
        model = ExtraTreesRegressor(60, min_samples_leaf=2, random_state=1)
        guessed[test] = model.fit(rows[train], logs[train]).predict(rows[test])
    return guessed


def class_of(sample):
    """The length of the answer, as bytes in steps of a quarter of an octave: nothing else of it."""
    return round(np.log2(max(1, sum(size for _, size, down in sample["packets"] if down))) * 4)


def told_by_class(samples, labels, logs):
    """What an ideal attacker knows who sees the class of the length and nothing else: area above base, and R²."""
    classes = np.array([class_of(one) for one in samples])
    total = ((logs - logs.mean()) ** 2).sum()
    scores = np.zeros((len(labels), labels.max() + 1))
    between = 0.0
    for one in np.unique(classes):
        own = classes == one
        between += own.sum() * (logs[own].mean() - logs.mean()) ** 2
        for topic in range(labels.max() + 1):
            scores[own, topic] = (labels[own] == topic).mean()
    return {"area": float(area(labels, scores)), "explained": float(between / total) if total > 0 else 0.0}


def blind_guesses(labels, width, rng):
    """What guesses that know nothing reach, and what the best of three exceeds once in 40 times: there are three classifiers."""
    areas = np.array([area(labels, rng.random((len(labels), width))) for _ in range(900)])
    best = areas.reshape(-1, 3).max(axis=1)
    return {"blind": float(areas.mean()), "chance": float(np.percentile(best, 97.5))}


def judge(samples, rng):
    rows = np.array([features(one) for one in samples])
    labels = np.array([one["topic"] for one in samples])
    logs = np.log([one["tokens"] for one in samples])
    width = int(labels.max()) + 1
    topic_count = len(np.unique(labels))
    blind = blind_guesses(labels, width, rng)
    topics = {}
    for name, make in classifiers().items():
        scores = guess_topics(rows, labels, make)
        spread = interval(lambda chosen: area(labels[chosen], scores[chosen]), len(labels), rng)
        topics[name] = {"mean": float(area(labels, scores)), **spread}
    guessed = guess_tokens(rows, logs)
    spread = interval(lambda chosen: r2_score(logs[chosen], guessed[chosen]), len(logs), rng)
    downs = [sum(size for _, size, down in one["packets"] if down) for one in samples]
    wire = [one["packets"][-1][0] for one in samples]
    return {
        "samples": len(samples),
        "baseRate": 1 / topic_count,
        **blind,
        "topics": topics,
        "tokens": {"mean": float(r2_score(logs, guessed)), **spread},
        "byLengthClass": told_by_class(samples, labels, logs),
        "load": float(np.mean([one["load"] for one in samples])),
        "resets": sum(one["resetMs"] is not None for one in samples),
        "downBytes": float(np.mean(downs)),
        "wireMs": float(np.mean(wire)),
        "totalMs": float(np.median([one["totalMs"] for one in samples])),
    }


def slowdown(samples):
    """How much longer unshaped answers took than they were scripted to: what the machine adds."""
    own = [one for one in samples if (one["set"], one["shape"], one["kind"]) == ("main", "off", "stream")]
    times = [one["packets"][-1][0] / (150 + one["tokens"] * one["paceMs"]) for one in own if one["tokens"] > 50]
    return float(np.median(times)) if times else 1.0


NAMES = ("set", "leg", "kind", "shape")


def judge_cell(samples):
    """One row of the tables; nothing where topics have too few answers."""
    named = dict((name, samples[0][name]) for name in NAMES)
    if min(np.unique([one["topic"] for one in samples], return_counts=True)[1]) < LEAST_PER_TOPIC:
        print(*named.values(), "too few to judge:", len(samples), flush=True)
        return None
    cell = {**named, **judge(samples, np.random.default_rng(1))}
    print(*named.values(), json.dumps(cell["tokens"]), flush=True)
    return cell


def main(path, results):
    with open(path, encoding="utf-8") as lines:
        samples = [json.loads(line) for line in lines]
    rows = {}
    for one in samples:
        rows.setdefault(tuple(one[name] for name in NAMES), []).append(one)
    # The main table first: what there is can be read before the last row is judged.
    order = sorted(rows, key=lambda key: (key[0] != "main", key))
    load = [one["load"] for one in samples]
    loads = {"mean": float(np.mean(load)), "low": float(np.min(load)), "high": float(np.max(load))}
    cells = []
    with ProcessPoolExecutor(3) as pool:
        for cell in pool.map(judge_cell, [rows[key] for key in order]):
            if cell is None:
                continue
            cells.append(cell)
            with open(results, "w", encoding="utf-8") as file:
                json.dump({"slowdown": slowdown(samples), "load": loads, "cells": cells}, file, indent=2)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
