import { createContext, type ReactNode, useContext } from "react";
import type { Transport } from "./transport.js";

const TransportContext = createContext<Transport | null>(null);

/** Gives the hooks below it the transport to reach the API by. */
export function SteersmanProvider(props: { transport: Transport; children?: ReactNode }) {
  return (
    <TransportContext.Provider value={props.transport}>{props.children}</TransportContext.Provider>
  );
}

/** The transport of the provider above. Throws where there is none. */
export function useTransport(): Transport {
  const transport = useContext(TransportContext);
  if (transport === null) throw new Error("The hooks need a <SteersmanProvider> above them.");
  return transport;
}
