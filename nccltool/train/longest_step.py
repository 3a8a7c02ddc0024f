"""The longest that a step of a training can wait for its communication, over a slow network. Pure."""

from nccltool.train.job import TrainSpec

_BYTES = 4
"""Of a parameter, and of what blocks hand on, at the most: float32."""
_OF_PARAMETERS = 4
"""How often all parameters cross a link in a step: FSDP gathers them twice and scatters gradients, DDP sends those
there and back; one more for the norm of the gradients and whatever a strategy sends besides."""
_OF_ACTIVATIONS = 8
"""How often what a block puts out crosses a link: tensor parallelism adds up twice forward and twice backward, and
each sum travels there and back."""
_SLOWER = 2.0


def inside_s(spec: TrainSpec, world_size: int, rate: float) -> float:
    """Seconds that a rank may be inside communication without a sign, over links of `rate` bytes per second."""
    if world_size == 1:
        return 0.0
    block = 12 * spec.width**2  # query, key, value, out, and two of four times the width
    parameters = spec.layers * block + (2 * spec.vocabulary + spec.context) * spec.width
    tokens = spec.batch * world_size * spec.context
    activations = spec.layers * tokens * spec.width
    return _SLOWER * _BYTES * (_OF_PARAMETERS * parameters + _OF_ACTIVATIONS * activations) / rate
