// An API as kubelab's tables have it, as a .proto file: that of container runtimes or, with `deviceplugin`, that of device plugins.
//   npm run -s proto > cri.proto && grpcurl -plaintext -proto cri.proto -unix /run/x.sock runtime.v1.RuntimeService/Version

import { DEVICE_PLUGIN, REGISTRATION } from "../src/kubelet/apis/deviceplugin/v1beta1.js";
import { criProtoText, protoText } from "../src/staging/cri/proto-text.js";

const devicePlugin = () => protoText("v1beta1", { Registration: REGISTRATION, DevicePlugin: DEVICE_PLUGIN });
process.stdout.write(process.argv[2] === "deviceplugin" ? devicePlugin() : criProtoText());
