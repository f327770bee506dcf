"""A convolutional network over the frames of a conversation, written out in JAX."""

import jax
import jax.numpy as jnp
import numpy as np

WIDTH = 48
BATCH = 50
EPOCHS = 60
RATE = 2e-3


def initial(rng, channels, classes):
    def weights(*shape):
        fan_in = np.prod(shape[:-1])
        return jnp.asarray(rng.normal(0, np.sqrt(2 / fan_in), shape), dtype=jnp.float32)

    return {
        "first": weights(5, channels, WIDTH),
        "second": weights(5, WIDTH, WIDTH),
        "third": weights(5, WIDTH, WIDTH),
        "hidden": weights(6 * WIDTH + 1, 64),
        "hidden_bias": jnp.zeros(64),
        "out": weights(64, classes),
        "out_bias": jnp.zeros(classes),
    }


def convolve(inputs, kernel, stride):
    layout = ("NWC", "WIO", "NWC")
    summed = jax.lax.conv_general_dilated(inputs, kernel, (stride,), "SAME", dimension_numbers=layout)
    return jax.nn.relu(summed)


def logits(parameters, inputs, dropout_key=None):
    present = inputs[:, :, -1:]
    length = present.sum(axis=1) / inputs.shape[1]
    first = convolve(inputs, parameters["first"], 1)
    second = convolve(first, parameters["second"], 2)
    third = convolve(second, parameters["third"], 2)
    # How often each pattern comes, how strongly at most, and how it begins.
    often = [layer.mean(axis=1) for layer in (first, second, third)]
    most = [layer.max(axis=1) for layer in (second, third)]
    pooled = jnp.concatenate([*often, *most, second[:, :24].mean(axis=1)], axis=1)
    pooled = (pooled - pooled.mean(axis=1, keepdims=True)) / (pooled.std(axis=1, keepdims=True) + 1e-3)
    pooled = jnp.concatenate([pooled, length], axis=1)
    if dropout_key is not None:
        kept = jax.random.bernoulli(dropout_key, 0.7, pooled.shape)
        pooled = pooled * kept / 0.7
    hidden = jax.nn.relu(pooled @ parameters["hidden"] + parameters["hidden_bias"])
    return hidden @ parameters["out"] + parameters["out_bias"]


def loss(parameters, inputs, labels, key):
    scores = jax.nn.log_softmax(logits(parameters, inputs, key))
    decay = sum((value**2).sum() for value in parameters.values())
    return -scores[jnp.arange(len(labels)), labels].mean() + 1e-4 * decay


@jax.jit
def adam_step(parameters, first, second, count, inputs, labels, key, rate):
    gradients = jax.grad(loss)(parameters, inputs, labels, key)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)

    def moved(parameter, m, v):
        unbiased = (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-8)
        return parameter - rate * unbiased

    return jax.tree.map(moved, parameters, first, second), first, second


def fit_and_predict(train_inputs, train_labels, test_inputs, classes, seed):
    """Probabilities of each class for the test inputs."""
    rng = np.random.default_rng(seed)
    parameters = initial(rng, train_inputs.shape[2], classes)
    first = jax.tree.map(jnp.zeros_like, parameters)
    second = jax.tree.map(jnp.zeros_like, parameters)
    key = jax.random.PRNGKey(seed)
    steps = len(train_labels) // BATCH
    total, count = EPOCHS * steps, 0
    for _ in range(EPOCHS):
        order = rng.permutation(len(train_labels))
        for step in range(steps):
            chosen = order[step * BATCH : (step + 1) * BATCH]
            count += 1
            key, dropout_key = jax.random.split(key)
            rate = RATE * 0.5 * (1 + np.cos(np.pi * count / total))
            parameters, first, second = adam_step(
                parameters, first, second, float(count),
                train_inputs[chosen], train_labels[chosen], dropout_key, rate,
            )
    predict = jax.jit(lambda batch: jax.nn.softmax(logits(parameters, batch)))
    return np.concatenate(
        [np.asarray(predict(test_inputs[at : at + 200])) for at in range(0, len(test_inputs), 200)]
    )
