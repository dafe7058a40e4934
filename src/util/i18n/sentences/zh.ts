import clients from "./clients.zh.json" with { type: "json" };
import constants from "./constants.zh.json" with { type: "json" };
import controlPlane from "./control-plane.zh.json" with { type: "json" };
import display from "./display.zh.json" with { type: "json" };
import grade from "./grade.zh.json" with { type: "json" };
import node from "./node.zh.json" with { type: "json" };
import results from "./results.zh.json" with { type: "json" };

/** The sentences of facts in Chinese; each file covers some folders of the source. */
export const zh = { ...constants, ...clients, ...controlPlane, ...node, ...display, ...results, ...grade };
