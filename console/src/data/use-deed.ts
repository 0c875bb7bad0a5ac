import type { TypedDocumentNode } from "@urql/core";
import { useCallback, useRef, useState } from "react";
import { useClient } from "urql";
import type { Problem } from "../ui";
import { problemOf, refusalOf } from "./problem";

interface Refusable {
  errors: Array<{ code: string; message: string; field: string[] | null }>;
}

/** What came of a deed. */
export interface Done<Payload> {
  payload: Payload | null;
  problem: Problem | null;
  /** The argument at fault, such as `config`; null where it is about none. */
  field: string | null;
}

interface Deed<Variables, Payload> {
  /** Does it. `make` gets an idempotency key, which stays the same until an answer came. */
  act: (make: (key: string) => Variables) => Promise<Done<Payload>>;
  busy: boolean;
  problem: Problem | null;
  field: string | null;
  clear: () => void;
}

/** A mutation that a person asks for: whether it is under way, and why it was not done. */
export function useDeed<Name extends string, Payload extends Refusable, Variables extends object>(
  mutation: TypedDocumentNode<Record<Name, Payload>, Variables>,
  name: Name,
): Deed<Variables, Payload> {
  const client = useClient();
  const key = useRef(crypto.randomUUID());
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<{ problem: Problem; field: string | null } | null>(null);

  const act = useCallback(
    async (make: (key: string) => Variables): Promise<Done<Payload>> => {
      setBusy(true);
      setFailed(null);
      const { data, error } = await client
        .mutation(mutation, make(key.current) as never)
        .toPromise();
      setBusy(false);
      const payload = data?.[name] ?? null;
      const problem = error ? problemOf(error) : refusalOf(payload);
      // Without an answer nobody knows whether it was done: the same key does it once.
      if (problem?.code !== "NETWORK") key.current = crypto.randomUUID();
      const field = payload?.errors[0]?.field?.find((each) => each !== "input") ?? null;
      if (problem) setFailed({ problem, field });
      return { payload, problem, field };
    },
    [client, mutation, name],
  );
  const clear = useCallback(() => setFailed(null), []);
  return { act, busy, problem: failed?.problem ?? null, field: failed?.field ?? null, clear };
}
