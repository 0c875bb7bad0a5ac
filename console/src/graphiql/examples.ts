import type { GraphiQLProps } from "graphiql";

type Tabs = NonNullable<GraphiQLProps["defaultTabs"]>;

// The first tab has its values in the text: GraphiQL leaves out the variables of the first of its default tabs.
const START = `# Steersman runs agents. Press the play button to
# start a run of an example agent.
#
# The answer comes at once; the run goes on by itself,
# watched or not. Copy its id into the variables of the
# next tabs: they watch it, steer it, and stop it.
#
# A subscription ends when its tab is left (the run does
# not): steer from a second window while you watch here.
# The agent "slowpoke", asked to count slowly to 60, takes
# its time for that.
#
# The book on the left has every type and field. To sign
# in, put this into the Headers pane of a tab:
#   { "Authorization": "Bearer …" }

mutation StartRun {
  startRun(
    input: {
      agent: "researcher"
      input: "How does steering a run work?"
    }
  ) {
    run {
      id
      status
      title
    }
    errors {
      code
      message
    }
  }
}
`;

const WATCH = `# Every event of a run as it comes, newest first: text
# as the model writes it, tool calls, and RunResult when
# it has ended. Start it as often as you like, also after
# the end: it replays.

subscription WatchRun($runId: ID!) {
  runStream(runId: $runId) {
    __typename
    seq
    step
    ... on TextDelta {
      offset
      text
    }
    ... on ToolCallStarted {
      name
      input
    }
    ... on ToolCallProgress {
      message
      fraction
    }
    ... on ToolCallFinished {
      name
      result
      isError
    }
    ... on CallsWaiting {
      calls {
        id
        runId
        name
        input
      }
    }
    ... on SubagentStarted {
      agent
      runId
    }
    ... on InputApplied {
      inputIds
    }
    ... on RunResult {
      status
      finish
      text
    }
  }
}
`;

const STEER = `# More input for a run at work: it is folded in behind
# the tool calls under way. With mode INTERRUPT the
# answer being written is stopped, and the input read
# at once.

mutation SteerRun($runId: ID!, $input: String!, $mode: SteerMode!) {
  steerRun(input: { runId: $runId, input: $input, mode: $mode }) {
    queued
    inputId
    run {
      status
      pendingInput {
        text
      }
    }
    errors {
      code
      message
    }
  }
}
`;

const APPROVALS = `# What waits for your decision: start the agent "desk",
# asked to refund 150 on order A-1042, and look here.

query Approvals {
  approvals {
    nodes {
      id
      runId
      agent
      name
      input
    }
  }
}
`;

const DECIDE = `# Approves a call that waits, or denies it: then the run
# goes on. Its id and its runId stand in "Approvals".

mutation Decide($runId: ID!, $callId: ID!) {
  decideToolCalls(
    input: {
      runId: $runId
      decisions: [{ toolCallId: $callId, decision: APPROVE }]
    }
  ) {
    run {
      status
    }
    errors {
      code
      message
    }
  }
}
`;

const OFFER = `# Offers tools to your runs: what is connected, here this
# page. The same name again replaces what was offered.
# An MCP server has kind MCP and a url in place of tools.

mutation Offer {
  registerRemote(
    input: {
      name: "browser"
      kind: CLIENT
      tools: [
        {
          name: "read"
          description: "Read a tab that is open."
          inputSchema: {
            type: "object"
            properties: { tab: { type: "integer", minimum: 1 } }
            required: ["tab"]
          }
        }
      ]
    }
  ) {
    remote {
      id
      connected
    }
    errors {
      code
      message
      field
    }
  }
}
`;

const CALLS = `# The calls that wait for your answer, then each that
# begins to. The remote is connected while this is open:
# let it run here, and answer from a second window.

subscription RemoteCalls($remoteId: ID!) {
  remoteCalls(remoteId: $remoteId) {
    id
    runId
    tool
    input
    deadline
  }
}
`;

const ANSWER = `# Answers a call of "RemoteCalls", once: then its run
# goes on with the result.

mutation AnswerRemoteCall($callId: ID!, $result: JSON) {
  answerRemoteCall(
    input: { callId: $callId, result: $result }
  ) {
    accepted
    errors {
      code
      message
    }
  }
}
`;

const STOP = `# Stops a run, in the middle of a sentence or of a tool.
# What was shown of the answer is kept.

mutation CancelRun($runId: ID!) {
  cancelRun(input: { runId: $runId }) {
    run {
      status
      cancelRequested
    }
    errors {
      code
      message
    }
  }
}
`;

const LOOK = `# What is remembered: your runs, newest first, with all
# that was said.

query Runs {
  runs(first: 5) {
    edges {
      node {
        id
        agent
        title
        status
        finish
        messages(first: 20) {
          edges {
            node {
              seq
              role
              text
            }
          }
        }
      }
    }
  }
}
`;

const SCHEDULE = `# Tells an agent something every morning, by the clock
# of a time zone, until deleteSchedule ends it.

mutation CreateSchedule {
  createSchedule(
    input: {
      agent: "researcher"
      input: "What is new?"
      cron: "0 9 * * MON-FRI"
      timeZone: "Europe/Berlin"
      key: "every-morning"
    }
  ) {
    schedule {
      id
      enabled
      nextAt
    }
    errors {
      code
      message
      field
    }
  }
}
`;

const WEBHOOK = `# Has an address of yours posted to when a run has
# ended. The secret is shown here alone: what is posted
# is signed with it.

mutation CreateWebhook {
  createWebhook(
    input: {
      url: "https://example.com/hook"
      key: "my-first-webhook"
    }
  ) {
    webhook {
      id
      url
      enabled
    }
    secret
    errors {
      code
      message
      field
    }
  }
}
`;

const AUTOMATION = `# What goes by itself: your schedules, with the last run
# of each, and your webhooks, with what came of telling
# them of a run's end.

query Automation {
  schedules {
    nodes {
      id
      agent
      cron
      timeZone
      nextAt
      lastError
      lastRun {
        id
        status
      }
    }
  }
  webhooks {
    nodes {
      id
      url
      enabled
      lastDelivery {
        runId
        status
        attempts
        deliveredAt
        error
      }
    }
  }
}
`;

const CREATE = `# An agent of your own, without any code: an expert with
# a system prompt. setResource gives it tools and
# documents; toolTypes and agentKinds tell what there is.

mutation CreateAgent {
  createAgent(
    input: {
      kind: "expert"
      name: "Ada"
      handle: "ada"
      config: {
        system_prompt: "You answer in one sentence."
      }
      key: "ada"
    }
  ) {
    agent {
      id
      handle
      config
      mainChat {
        id
      }
    }
    errors {
      code
      message
      field
    }
  }
}
`;

const PROMPT = `# Asks an agent once, with an input of any structure. The
# run's stream is the answer: watch it in WatchRun.

mutation PromptAgent(
  $agent: String!
  $instruction: String!
  $input: JSON
) {
  promptAgent(
    input: {
      agent: $agent
      instruction: $instruction
      input: $input
    }
  ) {
    run {
      id
      title
      streamId
    }
    errors {
      code
      message
      field
    }
  }
}
`;

const CHAT = `# A chat with people and agents. Agents are stored ones,
# by their ids (createAgent makes one); each has a main
# chat already, so you may also take its thread.

mutation CreateChat($agents: [ID!], $users: [String!]) {
  createChat(
    input: { title: "Our plans", agents: $agents, users: $users }
  ) {
    chat {
      id
      members {
        userId
        agent {
          name
          handle
        }
      }
    }
    thread {
      id
    }
    errors {
      code
      message
    }
  }
}
`;

const POST = `# The agents in the chat answer, or those alone that you
# mention by @ and their handle. Watch in the next tab.

mutation PostMessage($threadId: ID!, $text: String!) {
  postMessage(input: { threadId: $threadId, text: $text }) {
    message {
      id
      seq
    }
    errors {
      code
      message
    }
  }
}
`;

const CONVERSATION = `# What is said in a thread, newest first: each message
# again as it grows, until its status is not STREAMING.

subscription ChatMessages($threadId: ID!, $afterSeq: Int!) {
  chatMessages(threadId: $threadId, afterSeq: $afterSeq) {
    id
    seq
    senderUserId
    senderAgent {
      name
    }
    status
    text
    runId
  }
}
`;

const FIGURES = `# How the last day went, in four parts: turns, model
# calls, tokens and cost, by time and by agent, how long
# models took, and what is queued now. Administrators
# may ask for everyone: true.

query Statistics {
  statistics(parts: 4) {
    present {
      queued
      running
      waiting
    }
    parts {
      from
      figures {
        turns
        completed
        failed
        usage {
          cost
        }
      }
    }
    agents {
      name
      figures {
        turns
      }
    }
    firstToken {
      p50
      p95
    }
  }
}
`;

const variables = (values: Record<string, unknown>) => JSON.stringify(values, null, 2);

/** What a first visit finds: one tab for each thing that one does with runs, agents, chats and what goes by itself. */
export const TABS: Tabs = [
  { query: START },
  {
    query: WATCH,
    variables: variables({ runId: "run_…" }),
  },
  {
    query: STEER,
    variables: variables({ runId: "run_…", input: "Keep it to two sentences.", mode: "QUEUE" }),
  },
  { query: APPROVALS },
  { query: DECIDE, variables: variables({ runId: "run_…", callId: "call_…" }) },
  { query: STOP, variables: variables({ runId: "run_…" }) },
  { query: LOOK },
  { query: CREATE },
  {
    query: PROMPT,
    variables: variables({
      agent: "calculator",
      instruction: "What do these cost together?",
      input: { prices: [12, 30] },
    }),
  },
  { query: CHAT, variables: variables({ agents: [], users: [] }) },
  { query: POST, variables: variables({ threadId: "thr_…", text: "Hello, all." }) },
  { query: CONVERSATION, variables: variables({ threadId: "thr_…", afterSeq: 0 }) },
  { query: OFFER },
  { query: CALLS, variables: variables({ remoteId: "rmt_…" }) },
  { query: ANSWER, variables: variables({ callId: "rcl_…", result: "It says hello." }) },
  { query: SCHEDULE },
  { query: WEBHOOK },
  { query: AUTOMATION },
  { query: FIGURES },
];
