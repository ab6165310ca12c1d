# What a program needs beside the static library, as `rustc --print native-static-libs` says; a test compares the two.
set(AGENT_SURFACE_NATIVE_LIBRARIES gcc_s util rt pthread m dl c)
