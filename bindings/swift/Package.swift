// swift-tools-version: 6.0
import Foundation
import PackageDescription

// On Apple platforms the library comes as an XCFramework, put beside this file; elsewhere it is linked as any C library is:
// swift build -Xlinker -LFOLDER -Xlinker -rpath -Xlinker FOLDER
let framework = "AgentSurface.xcframework"
let library: Target =
  FileManager.default.fileExists(atPath: Context.packageDirectory + "/" + framework)
  ? .binaryTarget(name: "CAgentSurface", path: framework)
  : .systemLibrary(name: "CAgentSurface")

let package = Package(
  name: "AgentSurface",
  platforms: [.iOS(.v16), .macOS(.v13)],
  products: [.library(name: "AgentSurface", targets: ["AgentSurface"])],
  targets: [
    library,
    .target(name: "AgentSurface", dependencies: ["CAgentSurface"]),
    .executableTarget(name: "scenarios", dependencies: ["AgentSurface", "CAgentSurface"]),
    .testTarget(name: "AgentSurfaceTests", dependencies: ["AgentSurface"]),
  ],
  swiftLanguageModes: [.v6]
)
