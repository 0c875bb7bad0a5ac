import { useApprovals } from "@steersman/react";

export function Inbox() {
  const { approvals, approve, deny, error } = useApprovals();
  return (
    <section>
      {approvals.map(({ id, agent, name, input, deciding }) => (
        <fieldset key={id} disabled={deciding !== null}>
          <legend>{`${agent} wants to call ${name}`}</legend>
          <pre>{JSON.stringify(input, null, 2)}</pre>
          <input type="button" value="Approve" onClick={() => approve(id)} />
          <input type="button" value="Deny" onClick={() => deny(id, { reason: "not today" })} />
        </fieldset>
      ))}
      {error && <p role="alert">{error.message}</p>}
    </section>
  );
}
