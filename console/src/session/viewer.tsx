import { createContext, type ReactNode, useContext } from "react";
import type { ViewerQuery } from "./api";

/** Who is signed in. */
export type Viewer = NonNullable<ViewerQuery["viewer"]>;

const ViewerContext = createContext<Viewer | null>(null);

/** Tells the page who is signed in. */
export function ViewerProvider(props: { viewer: Viewer; children: ReactNode }) {
  return <ViewerContext.Provider value={props.viewer}>{props.children}</ViewerContext.Provider>;
}

/** Who is signed in. Throws outside the pages, which nobody sees without being signed in. */
export function useViewer(): Viewer {
  const viewer = useContext(ViewerContext);
  if (viewer === null) throw new Error("Nobody is signed in here.");
  return viewer;
}
