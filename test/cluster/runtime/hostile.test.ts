import { testHostileScripts } from "./hostile.js";

// One script for each kind of limit; hostile-scripts.proof.test.ts runs them all.
testHostileScripts([
  "endless background jobs",
  "a function of itself",
  "a variable that doubles",
  "output without end",
  "a range of a billion",
  "a regular expression with nested repeats",
  "case with many *",
  "sed with a jump to itself",
  "a descriptor out of range",
  "a file without end",
  "servers on one port",
  "yes to /dev/null",
]);
