import { configure } from "@testing-library/dom";

// What is waited for in a page comes at once; a machine that is busy is given time.
configure({ asyncUtilTimeout: 60_000 });
