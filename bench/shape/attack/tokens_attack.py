"""How long is each token? The attacker knows how many there are and looks at the frames around."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GroupShuffleSplit

import observations as seen

WINDOW = 3
LONGEST = 11
MOST_TOKENS = 25_000
RESAMPLES = 300


def places_of(sizes, count):
    """The frame of each token. A frame of twice the usual size holds two, where frames follow tokens."""
    total = len(sizes)
    # With shaping off, the first frame holds the head, too, and the third from the end the finish; the
    # last two are what follows the last token.
    held = np.maximum(1, np.round(sizes[:-2] / np.median(sizes))).astype(int)
    held[:1] = 1
    held[-1:] = 1
    if held.sum() == count:
        return np.repeat(np.arange(total - 2), held)
    return np.round(np.arange(count) * (total - 1) / max(1, count)).astype(int)


def token_rows(exchange):
    """Frames around the place where token i of n must be, if frames follow tokens."""
    frames, lengths = exchange["frames"], exchange["tokenLengths"]
    sizes = np.array([size for _, size in frames], dtype=np.float64)
    between = seen.gaps(frames)
    count, total = len(lengths), len(frames)
    places = places_of(sizes, count)
    rows = [places / max(1, count), np.full(count, count), np.full(count, total)]
    for step in range(-WINDOW, WINDOW + 1):
        at = np.clip(places + step, 0, total - 1)
        rows += [sizes[at] - sizes.min(), between[at]]
    return np.stack(rows, axis=1), np.minimum(lengths, LONGEST)


def attack(conversations, log):
    rng = np.random.default_rng(6)
    rows, lengths, owners = [], [], []
    for index in rng.permutation(len(conversations)):
        for exchange in conversations[index]["exchanges"]:
            some_rows, some_lengths = token_rows(exchange)
            rows.append(some_rows)
            lengths.append(some_lengths)
            owners.append(np.full(len(some_lengths), index))
        if sum(map(len, lengths)) > MOST_TOKENS:
            break
    rows, lengths, owners = map(np.concatenate, (rows, lengths, owners))
    split = GroupShuffleSplit(1, test_size=0.4, random_state=2)
    train, test = next(split.split(rows, lengths, owners))
    truth = lengths[test]
    # Chance is what can be said of a token without looking at the frames.
    constant = np.bincount(lengths[train]).argmax()
    blind = fitted(rows[train][:, :2], lengths[train]).predict(rows[test][:, :2])
    guessed = fitted(rows[train], lengths[train]).predict(rows[test])
    report = {
        "tokens": len(truth),
        "accuracy": with_interval(guessed == truth, owners[test], rng),
        "constant": with_interval(truth == constant, owners[test], rng),
        "blind": with_interval(blind == truth, owners[test], rng),
        # Of the same tokens, so that what both share falls out.
        "gain": with_interval(
            (guessed == truth).astype(float) - (blind == truth), owners[test], rng
        ),
    }
    log(f"token lengths: {report['accuracy']['mean']:.3f}, blind {report['blind']['mean']:.3f}")
    return report


def fitted(rows, lengths):
    model = HistGradientBoostingClassifier(
        max_iter=40, learning_rate=0.2, max_leaf_nodes=15, random_state=3
    )
    return model.fit(rows, lengths)


def with_interval(hits, owners, rng):
    """Resamples conversations, not tokens: those of one conversation are alike."""
    ids, inverse = np.unique(owners, return_inverse=True)
    sums = np.bincount(inverse, weights=hits.astype(float))
    counts = np.bincount(inverse)
    means = []
    for _ in range(RESAMPLES):
        chosen = rng.integers(0, len(ids), len(ids))
        means.append(sums[chosen].sum() / counts[chosen].sum())
    low, high = np.percentile(means, [2.5, 97.5])
    return {"mean": float(hits.mean()), "low": float(low), "high": float(high)}
