import { testHostileScripts } from "./hostile.js";

testHostileScripts();
