import type { ReactNode } from "react";
import { TextArea } from "../../ui";

/** What a text says as JSON, or where it does not. An empty text is null. */
export function parsed(text: string): { value: unknown } | { error: string } {
  if (!text.trim()) return { value: null };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { error: `This is not JSON: ${placed(text, (error as Error).message)}` };
  }
}

/** The engine's complaint, with the line where it tells a position alone. */
function placed(text: string, message: string): string {
  const position = /at position (\d+)/.exec(message)?.[1];
  if (position === undefined || message.includes("line ")) return message;
  const before = text.slice(0, Number(position)).split("\n");
  return `${message}, line ${before.length} column ${(before.at(-1)?.length ?? 0) + 1}`;
}

interface JsonAreaProps {
  label: ReactNode;
  value: string;
  onChange: (value: string) => void;
  help?: ReactNode;
  /** What else is wrong with it, as the server says. */
  error?: string | null | undefined;
  rows?: number;
  hideLabel?: boolean;
  placeholder?: string;
}

/** JSON to write, checked while it is written. Tab leaves the field, as everywhere. */
export function JsonArea({ value, onChange, error, ...rest }: JsonAreaProps) {
  const checked = parsed(value);
  return (
    <TextArea
      mono
      spellCheck={false}
      autoCapitalize="off"
      {...rest}
      value={value}
      error={"error" in checked ? checked.error : error}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
