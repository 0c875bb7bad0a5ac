import { document } from "../../data/document";
import type * as api from "./api";

export const STATISTICS = document<api.StatisticsQuery, api.StatisticsQueryVariables>(`
  query Statistics($from: DateTime, $to: DateTime, $parts: Int!, $everyone: Boolean!) {
    statistics(from: $from, to: $to, parts: $parts, everyone: $everyone) {
      from to
      present { queued running waiting oldestQueuedAt }
      total { ...Figures }
      parts { from to figures { ...Figures } }
      agents { name figures { ...Figures } }
      users { name figures { ...Figures } }
      firstToken { count p50 p95 }
      step { count p50 p95 }
    }
  }
  fragment Figures on StatisticsFigures {
    turns completed failed cancelled calls
    usage { inputTokens outputTokens cacheReadTokens cacheWriteTokens cost }
  }`);
