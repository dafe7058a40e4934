import { replaySuite } from "./replay-suite.js";

// csr has a file of its own, so that it runs beside these: the recorder waits a lot there.
// Not replayed here: `watch` (four minutes; `npm run parity` does it), and `node-lifecycle` and `expiry`, which take a
// quarter of an hour of real time: test/controlplane/controllers/node-lifecycle.test.ts,
// test/controlplane/registry/recorded.test.ts and test/controlplane/auth hold them on a fake clock.
replaySuite(["discovery", "auth", "lease-node"]);
