"""A smoke training does not equal its reference.

## Meaning
A loss, a norm of the gradients or the parameters of a small training over the cluster differ from the same
training in one process by more than arithmetic explains.

## Impact
Real trainings with this strategy on these hosts go wrong without a message.

## Verify
    nccltool runs ID                           # train-wrong names the first step and the ranks that differ
    nccltool train STRATEGY                    # again: expected ok
    nccltool probe --nodes N -c 20             # expected `wrong` 0 in every row

## Causes
Corrupted data (see NccltoolWrongData), a torch or NCCL version with a defect, a wrong scale of gradients in a
patched framework.

## Fix
Where probe finds wrong data, drain that host. Else pin the torch or NCCL version that passed last. Blast
radius: all jobs that use it.

## Escalate
To the framework's owner, with the run folder.
"""

EXPR = "nccltool_train_correct == 0"
SEVERITY = "critical"
SUMMARY = "The smoke training {{ $labels.strategy }} is wrong"
DESCRIPTION = "A {{ $labels.strategy }} training over the cluster does not equal the same training in one process."
SOURCE = "the tolerance of nccltool train, derived per strategy and type"
