/** What the pages are made of: one look, and one behaviour for the keyboard and for those who hear the page. `markdown` is imported by itself. */

export { Announcer, announce } from "./announce";
export { Badge, StatusBadge, statusWord, type Tone } from "./badge";
export { Button, IconButton } from "./button";
export { Card } from "./card";
export { CopyButton } from "./copy";
export { cx } from "./cx";
export { Confirm, Dialog } from "./dialog";
export { Empty, Skeleton } from "./empty";
export { Field, SelectField, TextArea, TextField } from "./field";
export { ago, compact, count, duration, fullTime, money } from "./figures";
export { Json } from "./json";
export { Kbd } from "./kbd";
export { Menu, type MenuItem } from "./menu";
export { nextStep } from "./next-step";
export { ErrorNote, Note, type Problem } from "./note";
export { Page } from "./page";
export { Scrolling } from "./scrolling";
export { Switch } from "./switch";
export { countInTab } from "./tab-title";
export { Tabs } from "./tabs";
export { Ago, Took, useNow } from "./time";
export { Tooltip } from "./tooltip";
