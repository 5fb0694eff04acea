#!/bin/sh
# Build a release into dist/:
#   deploy/release/release.sh VERSION KEY OS/ARCHITECTURE…
# KEY is the file of the signing key that "go run ./deploy/release key" made, outside this tree. Equal commits,
# targets and keys give equal files, in any folder, with the Go version that go.mod names.
set -eu
cd "$(dirname "$0")/../.."
if [ $# -lt 3 ] || [ -z "$1" ] || [ ! -f "$2" ]; then
	echo "usage: make release VERSION=0.9.0 KEY=../release.key [TARGETS=linux/amd64]; docs/how-to/release.md has the steps" >&2
	exit 2
fi
version=$1
key=$(realpath "$2")
shift 2
case $key in "$PWD"/*) echo "the signing key $key is in the source tree: move it out" >&2; exit 2 ;; esac
if [ -n "$(git status --porcelain)" ]; then
	echo "commit first: a release is made of a commit" >&2
	exit 2
fi

# What the builder's own settings say does not count.
GOFLAGS=-trimpath GOWORK=off GOAMD64=v1 GOARM64=v8.0 CGO_ENABLED=0
export GOFLAGS GOWORK GOAMD64 GOARM64 CGO_ENABLED
GOTOOLCHAIN=go$(go list -m -f '{{.GoVersion}}')
export GOTOOLCHAIN
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
revision=$(git rev-parse HEAD)
go run ./deploy/release version "$version"

mkdir -p dist
find dist -maxdepth 1 -type f -delete
deploy/release/packages.sh dist
cp LICENSE NOTICE dist
app=satchel/cmd/internal/app
images=
for target; do
	os=${target%/*} arch=${target#*/} ending=
	[ "$os" != windows ] || ending=.exe
	for program in satchel satchel-hook satchel-lab; do
		file=dist/${program}_${version}_${os}_$arch$ending
		echo "$file"
		GOOS=$os GOARCH=$arch go build -buildvcs=false -o "$file" \
			-ldflags "-s -w -X $app.releaseVersion=v$version -X $app.releaseRevision=$revision" "./cmd/$program"
		go run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0 bin -json -noserial -notimestamp \
			-version "v$version" -output "${file%.exe}.cdx.json" "$file"
	done
	[ "$os" != linux ] || images="$images $arch=$PWD/dist/satchel_${version}_linux_$arch"
done
if [ -n "$images" ]; then
	# shellcheck disable=SC2086 # an argument for each image
	(cd deploy/release/image && go run . "$OLDPWD/dist/satchel_${version}_oci.tar" "$version" $images)
fi

(cd dist && LC_ALL=C ls -p | grep -v / | xargs sha256sum) > bin/dist/sums
mv bin/dist/sums dist/SHA256SUMS
go run ./deploy/release sign "$key" dist/SHA256SUMS > dist/SHA256SUMS.note
