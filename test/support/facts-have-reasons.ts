import { afterEach } from "vitest";
import { incomplete } from "./incomplete-facts.js";

/** Fails the test in which a fact was reported without its reason. */
afterEach(() => {
  const found = incomplete.splice(0);
  if (found.length > 0) throw new Error(`facts without a reason: ${JSON.stringify(found)}`);
});
