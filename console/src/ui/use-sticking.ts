import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

// So near to the end, in pixels, counts as being there.
const NEAR = 48;

interface Sticking {
  scroller: RefObject<HTMLElement | null>;
  content: RefObject<HTMLDivElement | null>;
  isAtEnd: boolean;
  /** How many messages came while the reader was elsewhere. */
  missed: number;
  toEnd: () => void;
}

/** Keeps the end of a growing list in view while the reader is there, and leaves those alone who read further up. */
export function useSticking(count: number): Sticking {
  const scroller = useRef<HTMLElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const stuck = useRef(true);
  const [isAtEnd, setAtEnd] = useState(true);
  const [seen, setSeen] = useState(count);

  const toEnd = useCallback(() => {
    const element = scroller.current;
    if (element === null) return;
    stuck.current = true;
    setAtEnd(true);
    element.scrollTop = element.scrollHeight;
  }, []);

  // Whoever comes by a link to a message reads there.
  useLayoutEffect(() => {
    const linked = location.hash ? document.getElementById(location.hash.slice(1)) : null;
    if (linked === null) return toEnd();
    stuck.current = false;
    setAtEnd(false);
    linked.scrollIntoView();
    linked.focus();
  }, [toEnd]);

  useEffect(() => {
    const element = scroller.current;
    const inner = content.current;
    if (element === null || inner === null) return;
    const onScroll = () => {
      const near = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
      stuck.current = near;
      setAtEnd(near);
    };
    const observer = new ResizeObserver(() => {
      if (stuck.current) element.scrollTop = element.scrollHeight;
    });
    observer.observe(inner);
    observer.observe(element);
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", onScroll);
    };
  }, []);

  useEffect(() => {
    if (isAtEnd) setSeen(count);
  }, [isAtEnd, count]);

  return { scroller, content, isAtEnd, missed: Math.max(0, count - seen), toEnd };
}
