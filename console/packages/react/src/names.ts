/** The API's types that the library's own are made of, under the names that they have for its users. */

import type { Row } from "./api.js";

export type {
  AttachmentInput,
  Call,
  ChatMessage,
  ChatMessageStatus,
  Decision,
  Event as StreamEvent,
  FinishReason,
  Json,
  Listed as ListedRun,
  Message,
  ModelCall,
  RunFilter,
  RunStatus,
  SteerMode,
  ToolCallState,
  Usage,
  Waiting as WaitingCall,
} from "./api.js";

export type Budget = NonNullable<Row["budget"]>;
