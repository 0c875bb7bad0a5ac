"""The operations of the harness's clients: each asks for what its client looks at, and for no more."""

from __future__ import annotations

START = """mutation ($input: StartRunInput!) {
  startRun(input: $input) { run { id streamId } errors { code message } }
}"""
STEER = """mutation ($input: SteerRunInput!) {
  steerRun(input: $input) { run { streamId } queued inputId errors { code message } }
}"""
DECIDE = """mutation ($input: DecideToolCallsInput!) {
  decideToolCalls(input: $input) { run { id streamId } errors { code message } }
}"""
CANCEL = """mutation ($input: CancelRunInput!) {
  cancelRun(input: $input) { run { streamId status } errors { code message } }
}"""
RUN = """query ($id: ID!) {
  run(id: $id) { status finish streamId pendingInput { id } messages(last: 1) { nodes { seq } } }
}"""

_EVENT = """
__typename streamId seq step attempt at
... on TextDelta { block offset text }
... on ReasoningDelta { block offset text }
... on ToolCallStarted { toolCallId }
... on ToolCallFinished { toolCallId isError }
... on InputQueued { inputId }
... on InputApplied { inputIds }
... on CallsWaiting { calls { id runId } }
... on StepFinished { messageSeq stopReason }
... on RunResult { status finish text }
"""
WATCH_STREAM = f"""subscription ($streamId: ID!, $after: Int) {{
  stream(streamId: $streamId, after: $after) {{ {_EVENT} }}
}}"""
WATCH_RUN_STREAM = f"""subscription ($runId: ID!, $streamId: ID, $after: Int) {{
  runStream(runId: $runId, streamId: $streamId, after: $after) {{ {_EVENT} }}
}}"""
WATCH_MESSAGES = """subscription ($runId: ID!, $afterSeq: Int) {
  messages(runId: $runId, afterSeq: $afterSeq) { id seq role content }
}"""
