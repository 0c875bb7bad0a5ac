import { FileText } from "lucide-react";
import { useEffect, useState } from "react";
import { session } from "../../session/session";
import css from "./own-file.module.css";

/**
 * A file of the server that only its owner may read. The token that proves who asks can't stand in an image's address, so
 * the file is fetched with it, and shown from memory.
 */
export function useOwnFile(url: string): { address: string | null; failed: boolean } {
  const [address, setAddress] = useState<string | null>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    const leaving = new AbortController();
    let made: string | null = null;
    void fetched(url, leaving.signal).then(
      (blob) => {
        if (leaving.signal.aborted) return;
        made = URL.createObjectURL(blob);
        setAddress(made);
      },
      () => !leaving.signal.aborted && setFailed(true),
    );
    return () => {
      leaving.abort();
      if (made) URL.revokeObjectURL(made);
    };
  }, [url]);
  return { address, failed };
}

async function fetched(url: string, signal: AbortSignal): Promise<Blob> {
  const { origin } = window.location;
  const address = new URL(url, origin);
  // Our own server alone is ever given the token.
  const token = address.origin === origin ? await session.token() : null;
  const headers = token === null ? undefined : { authorization: `Bearer ${token}` };
  const response = await fetch(address, { signal, ...(headers && { headers }) });
  if (!response.ok) throw new Error(`The server answered ${response.status}.`);
  return response.blob();
}

/** An image of a message. */
export function OwnImage({ url, name }: { url: string; name: string }) {
  const { address, failed } = useOwnFile(url);
  if (failed) return <span className={css.lost}>{name}: could not be loaded</span>;
  if (address === null) return <span className={css.waiting} aria-hidden="true" />;
  return (
    <a href={address} target="_blank" rel="noreferrer">
      <img className={css.image} src={address} alt={name} />
    </a>
  );
}

/** A document of a message, to open. */
export function OwnDocument({ url, name }: { url: string; name: string }) {
  const { address, failed } = useOwnFile(url);
  return (
    <a
      className={css.document}
      {...(address !== null && { href: address, download: name, target: "_blank" })}
    >
      <FileText size={16} aria-hidden="true" />
      {failed ? `${name}: could not be loaded` : name}
    </a>
  );
}
