"""A smoke test of training differs from its reference.

## Meaning
A loss, a gradient norm, or the parameters of a small training run on the cluster differ from the same run in
a single process by more than floating-point rounding explains.

## Impact
Real training jobs with this strategy on these hosts silently compute wrong results.

## Verify
    nccltool runs ID                           # train-wrong names the first step and the ranks that differ
    nccltool train STRATEGY                    # again; expected: ok
    nccltool probe --nodes N -c 20             # expected: `wrong` 0 in every row

## Causes
* Data was corrupted (see NccltoolWrongData).
* The version of torch or NCCL has a defect.
* A patched framework scales gradients incorrectly.

## Fix
If probe finds wrong data, drain that host. Otherwise pin the torch and NCCL versions of the last run that
passed. Blast radius: all jobs that use the pinned image.

## Escalate
Send the owner of the framework the run folder.
"""

EXPR = "nccltool_train_correct == 0"
SEVERITY = "critical"
SUMMARY = "The {{ $labels.strategy }} smoke test of training is wrong"
DESCRIPTION = "A {{ $labels.strategy }} training run on the cluster differs from the same run in a single process."
SOURCE = "the tolerance of nccltool train, derived per strategy and type"
