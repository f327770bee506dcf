"""main.py OBSERVATIONS RESULTS MODE…: attacks what was recorded and writes how well that went."""

import json
import sys
import time

import numpy as np

import observations as seen
import tokens_attack
import topics_attack


def costs(conversations):
    exchanges = [exchange for one in conversations for exchange in one["exchanges"]]

    def middle(values):
        return float(np.median(list(values)))

    return {
        "exchanges": len(exchanges),
        "downBytes": float(np.mean([one["downBytes"] for one in exchanges])),
        "upBytes": float(np.mean([one["upBytes"] for one in exchanges])),
        "firstTokenMs": middle(one["firstTokenMs"] for one in exchanges),
        "totalMs": middle(one["totalMs"] for one in exchanges),
        "wireMs": middle(one["frames"][-1][0] for one in exchanges),
        "slowdown": middle(one["totalMs"] / one["scriptedMs"] for one in exchanges),
        "tokens": middle(len(one["tokenLengths"]) for one in exchanges),
        "frameCounts": distinct(len(one["frames"]) for one in exchanges),
        "requestLengths": distinct(one["requestLength"] for one in exchanges),
    }


def distinct(values):
    kinds, counts = np.unique(list(values), return_counts=True)
    share = counts / counts.sum()
    return {"kinds": len(kinds), "bits": float(-(share * np.log2(share)).sum())}


def main(observed, results, modes):
    report = {}
    for mode in modes:
        started = time.monotonic()
        conversations = seen.load(observed, mode)

        def log(text, mode=mode, started=started):
            print(f"{mode}: {text} ({time.monotonic() - started:.0f} s)", flush=True)

        if not conversations:
            continue
        report[mode] = {
            "costs": costs(conversations),
            "tokens": tokens_attack.attack(conversations, log),
            # What the gateway is told for the bill is the same in every mode.
            "topics": topics_attack.attack(conversations, log, with_bill=mode == modes[0]),
        }
        with open(results, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=2)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
