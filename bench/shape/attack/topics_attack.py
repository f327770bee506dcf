"""Is this conversation about topic X? Two classifiers, judged on conversations they never saw."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedGroupKFold

import observations as seen
import sequence_model

FOLDS = 5
RESAMPLES = 300


def out_of_fold(labels, groups, classes, fit_and_predict):
    """Questions of one form stay in one fold: the attacker has not seen the question before."""
    scores = np.zeros((len(labels), classes))
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=1)
    for fold, (train, test) in enumerate(folds.split(labels, labels, groups)):
        scores[test] = fit_and_predict(train, test, fold)
    return scores


def boosted_trees(rows, labels, classes):
    spread = np.nanstd(rows, axis=0)
    varied = rows[:, spread > 0] if np.any(spread > 0) else rows

    def fit_and_predict(train, test, fold):
        model = HistGradientBoostingClassifier(
            max_iter=250, learning_rate=0.06, max_leaf_nodes=8, min_samples_leaf=8,
            l2_regularization=1.0, max_features=0.2, random_state=fold,
            # Weak signals are found only by who stops before learning the noise.
            early_stopping=True, validation_fraction=0.15, n_iter_no_change=8,
        )
        model.fit(varied[train], labels[train])
        return model.predict_proba(varied[test])

    return fit_and_predict


def network(tensor, labels, classes):
    def fit_and_predict(train, test, fold):
        return sequence_model.fit_and_predict(
            tensor[train], labels[train], tensor[test], classes, fold
        )

    return fit_and_predict


def precision_recall_area(labels, scores, classes):
    return np.array(
        [average_precision_score(labels == topic, scores[:, topic]) for topic in range(classes)]
    )


def resamples(groups, rng):
    """Questions are drawn, not conversations: those that begin with one question are alike."""
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    for _ in range(RESAMPLES):
        drawn = rng.integers(0, len(members), len(members))
        yield np.concatenate([members[index] for index in drawn])


def judged(labels, groups, scores, names, chance_mean, rng):
    classes = len(names)
    by_topic = precision_recall_area(labels, scores, classes)
    resampled, above = [], []
    for chosen in resamples(groups, rng):
        if len(np.unique(labels[chosen])) < classes:
            continue
        areas = precision_recall_area(labels[chosen], scores[chosen], classes)
        # A conversation that is drawn twice raises every area a little, that of blind guesses as well:
        # only against these does a resampled area say how far it is above chance.
        guesses = rng.random(scores.shape)[chosen]
        blind = precision_recall_area(labels[chosen], guesses, classes)
        resampled.append(areas)
        above.append(areas.mean() - blind.mean())
    low, high = np.percentile(np.mean(resampled, axis=1), [2.5, 97.5])
    above_low, above_high = np.percentile(above, [2.5, 97.5])
    topic_low, topic_high = np.percentile(resampled, [2.5, 97.5], axis=0)
    order = np.argsort(-by_topic)
    return {
        "mean": float(by_topic.mean()),
        "low": float(low),
        "high": float(high),
        "aboveChance": {
            "mean": float(by_topic.mean() - chance_mean),
            "low": float(above_low),
            "high": float(above_high),
        },
        "accuracy": float((scores.argmax(axis=1) == labels).mean()),
        "topics": [
            {
                "topic": names[topic],
                "area": float(by_topic[topic]),
                "low": float(topic_low[topic]),
                "high": float(topic_high[topic]),
            }
            for topic in order
        ],
    }


def chance(labels, names, rng):
    """What guesses that know nothing reach on as many conversations; a little above the base rate."""
    areas = [
        precision_recall_area(labels, rng.random((len(labels), len(names))), len(names)).mean()
        for _ in range(100)
    ]
    return {"mean": float(np.mean(areas)), "high": float(np.percentile(areas, 97.5))}


def attack(conversations, log, with_bill):
    names = sorted({one["topic"] for one in conversations})
    labels = np.array([names.index(one["topic"]) for one in conversations])
    groups = np.array([one["group"] for one in conversations])
    rng = np.random.default_rng(5)
    views = {
        "trees": boosted_trees(seen.table(conversations, seen.exchange_features), labels, len(names)),
        "network": network(seen.sequences(conversations), labels, len(names)),
    }
    if with_bill:
        bill = seen.table(conversations, seen.bill_features)
        views["bill"] = boosted_trees(bill, labels, len(names))
    report = {
        "conversations": len(conversations),
        "baseRate": 1 / len(names),
        "chance": chance(labels, names, rng),
    }
    for name, fit_and_predict in views.items():
        scores = out_of_fold(labels, groups, len(names), fit_and_predict)
        report[name] = judged(labels, groups, scores, names, report["chance"]["mean"], rng)
        log(f"topics by {name}: {report[name]['mean']:.3f}")
    return report
