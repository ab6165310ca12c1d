#!/bin/sh
# swift-run.sh test | scenarios [ARGUMENTS] | quick-start: the tests of bindings/swift, its scenario runner over spec/scenarios, or the program
# of its README as a package of its own, against build/debug.
# Swift is the one on the path, or the one that `make toolchains` installed. Exits 3 where there is neither.
set -eu
cd "$(dirname "$0")/.."
folder="${AGENT_SURFACE_TOOLCHAINS:-$PWD/build/toolchains}/swift"
mode=$1; shift

if command -v swift >/dev/null 2>&1; then
  project=$PWD enter=""
elif [ -L "$folder/usr/bin/swift" ] && [ "$(id -u)" = 0 ]; then
  project=/project enter=1
else
  echo "No Swift 6 here: make toolchains" >&2
  exit 3
fi

package=bindings/swift
case $mode in
test) command="swift test" arguments="" ;;
scenarios) command="swift run --quiet" arguments="scenarios $* $project/spec/scenarios" ;;
quick-start)
  command="swift run --quiet" arguments="" package=build/swift-quick-start
  mkdir -p $package/Sources/start
  sed -n '/^```swift$/,/^```$/p' bindings/swift/README.md | grep -v '^```' >$package/Sources/start/main.swift
  cat >$package/Package.swift <<'END'
// swift-tools-version: 6.0
import PackageDescription
let package = Package(
  name: "start", platforms: [.macOS(.v13)], dependencies: [.package(name: "AgentSurface", path: "../../bindings/swift")],
  targets: [.executableTarget(name: "start", dependencies: ["AgentSurface"])])
END
  ;;
*) echo "test, scenarios or quick-start?" >&2; exit 2 ;;
esac
library=$project/build/debug
command="cd $project/$package && $command --scratch-path $project/build/swift/$(basename $package) -Xlinker -L$library -Xlinker -rpath -Xlinker $library $arguments"

if [ -z "$enter" ]; then
  exec sh -c "$command"
fi
mkdir -p "$folder/project"
# The mounts live and die with this command.
exec unshare --mount sh -c 'mount -t proc proc "$1/proc" && mount --bind "$2" "$1/project" &&
  { [ -c "$1/dev/null" ] || mknod -m 666 "$1/dev/null" c 1 3; } && { [ -c "$1/dev/urandom" ] || mknod -m 666 "$1/dev/urandom" c 1 9; } &&
  exec chroot "$1" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/root LANG=C.UTF-8 sh -c "$3"' sh "$folder" "$PWD" "$command"
