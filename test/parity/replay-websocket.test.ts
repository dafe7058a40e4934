import { replaySuite } from "./replay-suite.js";

replaySuite(["websocket"]);
