# Prints the version in vcpkg.json, which has to be JSON for it.
file(READ "${MANIFEST}" manifest)
string(JSON version GET "${manifest}" version)
message("${version}")
