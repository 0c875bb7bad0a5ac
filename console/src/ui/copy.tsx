import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { announce } from "./announce";
import { Button } from "./button";

/** Copies a text. `named` shows the label; else it is the name of an icon. */
export function CopyButton(props: { text: string; label?: string; named?: boolean }) {
  const { text, label = "Copy", named = false } = props;
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    announce("Copied");
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <Button
      look={named ? "plain" : "quiet"}
      small
      icon={copied ? <Check /> : <Copy />}
      onClick={() => void copy()}
      {...(!named && { "aria-label": label, title: label })}
    >
      {named ? (copied ? "Copied" : label) : null}
    </Button>
  );
}
