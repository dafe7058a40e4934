import { replaySuite } from "./replay-suite.js";

// csr has its own file, so that it runs in parallel: the recorder waits a lot there.
// Not replayed here: `watch` (four minutes; `npm run parity` runs it), and `node-lifecycle` and `expiry`, which take a
// quarter of an hour of real time: test/cluster/controllers/node-lifecycle.test.ts,
// test/cluster/apiserver/registry/generic/recorded.test.ts and test/cluster/apiserver/auth cover them with a fake clock.
replaySuite(["discovery", "auth", "lease-node"]);
