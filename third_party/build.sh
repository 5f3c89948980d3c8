#!/usr/bin/env bash
# build.sh TARGET - builds every library of PINS, static, into build/deps/<target>-<key>/ (or $IPYBOX_TEST_CACHE/deps/…, which checkouts
# share) and points the symlink build/deps/<target> at it. TARGET: x86_64-linux-musl | aarch64-linux-musl (release, zig) | gcc-asan (development).
#
# key = hash of PINS, patches, this script, the versions of tools and compiler, and the target: as long as none of them
# changes, a second call costs milliseconds. The rest of the project sees a prefix (include/, lib/, lib/pkgconfig).
#
# BUILD_DIR   where build products go (default: build/ beside third_party)
# JOBS        parallel compilers per library (default: number of processors)
# KEEP_WORK   set: keep the unpacked sources and objects
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export BUILD_DIR=${BUILD_DIR:-$(dirname "$here")/build}
tools=$BUILD_DIR/tools/bin
jobs=${JOBS:-$(nproc)}
small='cjson zlib mbedtls curl libwebsockets libmicrohttpd libsodium nghttp2'   # in this order: curl needs mbedtls

main()
{
    [ $# -eq 1 ] || die "usage: build.sh x86_64-linux-musl|aarch64-linux-musl|gcc-asan"
    target=$1
    "$here/tools.sh"
    toolchain
    local store=${IPYBOX_TEST_CACHE:-$BUILD_DIR}/deps
    prefix=$store/$target-$(key)
    mkdir -p "$BUILD_DIR/deps" "$store"
    exec 9> "$store/.lock-$target"
    flock 9                                                # two builds at once: the second finds the work done
    if [ ! -d "$prefix" ]; then build_all; fi
    ln -sfn "$(realpath --relative-base="$BUILD_DIR/deps" "$prefix")" "$BUILD_DIR/deps/$target"
    echo "deps: $prefix"
}

# Compilers and flags of the target.
toolchain()
{
    cross=no
    # Flags that every library gets. Foreign code never gets our -Werror.
    local common='-ffunction-sections -fdata-sections -fPIE -w'
    case $target in
        gcc-asan)
            CC=gcc CXX=g++ AR=gcc-ar RANLIB=gcc-ranlib cxxlib=-lstdc++
            command -v g++ >/dev/null || die "g++ is missing: apt-get install gcc g++ make"
            # What our code hands to a library is checked by its address. More than that, and more than the lines in a trace, takes
            # three times as long to compile, and libzmq calls through members of half-destroyed objects by design.
            flags="$common -Og -g1 -fno-omit-frame-pointer -fsanitize=address"
            flags_c=$flags flags_cxx=$flags
            ;;
        x86_64-linux-musl|aarch64-linux-musl)
            cross=yes
            CC=$tools/$target-cc CXX=$tools/$target-c++ AR=$tools/$target-ar RANLIB=$tools/$target-ranlib cxxlib=-lc++
            # ZIG_SSP_KEY: zig's object cache ignores -fstack-protector*, a define that goes with it does not.
            flags="$common -O2 -g0 -DNDEBUG -fno-sanitize=all -fstack-protector-strong -DZIG_SSP_KEY=1"
            flags="$flags -ftrivial-auto-var-init=zero"
            flags_c=$flags flags_cxx=$flags
            ;;
        *) die "unknown target $target" ;;
    esac
    export CC CXX AR RANLIB
    # Checks that configure scripts compile and run leak on purpose or by carelessness.
    export ASAN_OPTIONS=detect_leaks=0
    PATH=$tools:$PATH
}

key()
{
    find "$here" -maxdepth 2 -type f \( -name PINS -o -name build.sh -o -name tools.txt -o -name '*.patch' -o -name sha256_blocks.c \) | sort |
        { xargs cat; "$CC" --version; echo "$target"; } | sha256sum | cut -c1-16
}

build_all()
{
    "$here/fetch"
    work=$prefix.work part=$prefix.part
    rm -rf -- "$work" "$part"
    mkdir -p "$work/log" "$part/include" "$part/lib/pkgconfig"
    # No path of the building machine in the objects.
    flags_c="$flags_c -ffile-prefix-map=$work=." flags_cxx="$flags_cxx -ffile-prefix-map=$work=."
    local start=$SECONDS name zmq
    echo "deps: building for $target ($jobs jobs), logs in $work/log" >&2

    if [ "$cross" = yes ]; then step libc; fi              # zig compiles its libc and libc++ once; not twice at a time
    # libzmq is C++ and takes as long as everything else together: beside the rest.
    step zeromq &
    zmq=$!
    for name in $small; do
        if [ ! -e "$work/failed" ]; then step "$name"; fi
    done
    wait "$zmq"
    [ ! -e "$work/failed" ] || die "$target failed"

    # What is left beside headers and archives names the prefix under construction.
    rm -rf -- "${part:?}"/{bin,share,lib/cmake,lib/*.la,cmake} "$part"/lib/pkgconfig/*
    write_pc_files
    mv -- "$part" "$prefix"
    if [ -z "${KEEP_WORK:-}" ]; then rm -rf -- "$work"; fi
    echo "deps: $target built in $((SECONDS - start)) s" >&2
}

# step NAME - unpack and build one library; its output goes to a log that is shown when it fails, then $work/failed is
# there. Never call it in a condition: bash ignores -e in everything below one, and a failed patch would be built over.
step()
{
    local start=$SECONDS log=$work/log/$1.log status=0
    ( if [ "$1" != libc ]; then unpack "$1"; fi; "build_$1" ) > "$log" 2>&1 &
    wait $! || status=$?
    if [ "$status" -eq 0 ]; then
        printf 'deps:   %-14s %3d s\n' "$1" $((SECONDS - start)) >&2
    else
        : > "$work/failed"
        printf 'deps: %s failed. The end of %s:\n' "$1" "$log" >&2
        tail -n 40 "$log" >&2
    fi
}

# unpack NAME - into $work/NAME, with Debian's patch series and our own patches applied.
unpack()
{
    local name kind file patch
    mkdir -p "$work/$1"
    while read -r name _ kind _ file _; do
        if [ "$name" != "$1" ]; then continue; fi
        case $kind in
            orig) tar -xf "$here/sources/$file" -C "$work/$1" --strip-components=1 ;;
            debian)
                mkdir -p "$work/$1.debian"
                tar -xf "$here/sources/$file" -C "$work/$1.debian"
                sed 's/[[:space:]]*#.*//; /^[[:space:]]*$/d' "$work/$1.debian/debian/patches/series" |
                while read -r patch _; do
                    echo "patch $patch"
                    patch -p1 -s -f -d "$work/$1" < "$work/$1.debian/debian/patches/$patch"
                done
                ;;
        esac
    done < "$here/PINS"
    for patch in "$here/patches/$1"-*.patch; do
        if [ -f "$patch" ]; then echo "patch $patch"; patch -p1 -s -f -d "$work/$1" < "$patch"; fi
    done
}

build_libc()
{
    printf 'int main(void) { return 0; }\n' > "$work/w.c"
    printf '#include <map>\n#include <stdexcept>\n#include <string>\nint main() { std::map<std::string, int> m; m["x"] = 1; throw std::runtime_error("x"); }\n' > "$work/w.cc"
    # Linked as the product is: zig keeps one libc and libc++ per kind of executable.
    "$CC" -O2 -fPIE -pie -static -fno-sanitize=all "$work/w.c" -o "$work/w"
    "$CXX" -O2 -fPIE -pie -static -fno-sanitize=all "$work/w.cc" -o "$work/w++"
}

build_cjson()
{
    # The library is one file; its CMake project would only add a test suite.
    # shellcheck disable=SC2086
    "$CC" $flags_c -DCJSON_NESTING_LIMIT=128 -c "$work/cjson/cJSON.c" -o "$work/cJSON.o"
    "$AR" rcs "$part/lib/libcjson.a" "$work/cJSON.o"
    mkdir -p "$part/include/cjson"
    cp "$work/cjson/cJSON.h" "$part/include/cjson/"
}

# What inflates, alone.
build_zlib()
{
    local name
    for name in adler32 crc32 inffast inflate inftrees zutil; do
        # shellcheck disable=SC2086
        "$CC" $flags_c -c "$work/zlib/$name.c" -o "$work/zlib-$name.o"
    done
    "$AR" rcs "$part/lib/libz.a" "$work"/zlib-*.o
    cp "$work/zlib/zlib.h" "$work/zlib/zconf.h" "$part/include/"
}

# With SHA-256 as the processor can do it: every frame of a kernel is signed. Figures: docs/decisions/0023.
build_mbedtls()
{
    local flags_c=$flags_c arch=${target%%-*} lib=$part/lib/libmbedcrypto.a
    if [ "$target" = gcc-asan ]; then arch=$(uname -m); fi
    case $arch in
        x86_64) flags_c="$flags_c -DMBEDTLS_SHA256_PROCESS_ALT" ;;
        aarch64) flags_c="$flags_c -DMBEDTLS_SHA256_USE_ARMV8_A_CRYPTO_IF_PRESENT" ;;
    esac
    with_cmake mbedtls -DENABLE_PROGRAMS=OFF -DENABLE_TESTING=OFF -DGEN_FILES=OFF -DUSE_SHARED_MBEDTLS_LIBRARY=OFF \
        -DMBEDTLS_FATAL_WARNINGS=OFF
    if [ "$arch" = x86_64 ]; then
        unpack ring
        mkdir -p "$work/ring/include/ring_core_generated"
        : > "$work/ring/include/ring_core_generated/prefix_symbols_asm.h"   # ring's build would put prefixes there
        # shellcheck disable=SC2086
        "$CC" $flags_c -I"$part/include" -c "$here/sha256_blocks.c" -o "$work/sha256_blocks.o"
        # shellcheck disable=SC2086
        "$CC" $flags_c -I"$work/ring/include" -c "$work/ring/pregenerated/sha256-x86_64-elf.S" -o "$work/sha256_x86_64.o"
        "$AR" rs "$lib" "$work/sha256_blocks.o" "$work/sha256_x86_64.o"
    fi
}

build_curl()
{
    local off
    off=$(printf -- '-DCURL_DISABLE_%s=ON ' ALTSVC AWS COOKIES DIGEST_AUTH DOH HSTS IPFS KERBEROS_AUTH LIBCURL_OPTION MIME \
        NEGOTIATE_AUTH NETRC NTLM PROGRESS_METER SHUFFLE_DNS WEBSOCKETS)
    # shellcheck disable=SC2086
    with_cmake curl $off -DHTTP_ONLY=ON -DCURL_USE_MBEDTLS=ON -DCURL_USE_OPENSSL=OFF -DENABLE_UNIX_SOCKETS=ON \
        -DENABLE_THREADED_RESOLVER=ON -DUSE_NGHTTP2=OFF -DUSE_LIBIDN2=OFF -DCURL_USE_LIBPSL=OFF -DCURL_USE_LIBSSH2=OFF \
        -DCURL_ZLIB=OFF -DCURL_BROTLI=OFF -DCURL_ZSTD=OFF -DCURL_USE_PKGCONFIG=OFF \
        -DCURL_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt -DCURL_CA_PATH=none \
        -DBUILD_CURL_EXE=OFF -DBUILD_LIBCURL_DOCS=OFF -DBUILD_MISC_DOCS=OFF -DENABLE_CURL_MANUAL=OFF \
        -DBUILD_TESTING=OFF -DBUILD_EXAMPLES=OFF
}

build_libwebsockets()
{
    local off
    off=$(printf -- '-DLWS_WITH_%s=OFF ' SSL SHARED HTTP2 LIBUV LEJP LEJP_CONF LWSAC CBOR JOSE SYS_STATE SYS_SMD UDP FILE_OPS \
        DIR NETLINK SECURE_STREAMS UPNG JPEG CACHE_NSCOOKIEJAR LHP MINIMAL_EXAMPLES CONMON STRUCT_JSON HTTP_DIGEST_AUTH \
        HTTP_BASIC_AUTH SUL_DEBUGGING)
    # LIBCAP: found on some machines and not on others, never wanted.
    # shellcheck disable=SC2086
    with_cmake libwebsockets $off -DCMAKE_POLICY_VERSION_MINIMUM=3.5 -DDISABLE_WERROR=ON -DLWS_WITH_STATIC=ON \
        -DLWS_STATIC_PIC=ON -DLWS_WITHOUT_TESTAPPS=ON -DLWS_WITHOUT_TEST_SERVER=ON -DLWS_WITHOUT_TEST_SERVER_EXTPOLL=ON \
        -DLWS_WITHOUT_TEST_PING=ON -DLWS_WITHOUT_TEST_CLIENT=ON -DLWS_WITHOUT_EXTENSIONS=ON -DLWS_WITHOUT_DAEMONIZE=ON \
        -DLWS_IPV6=ON -DLWS_UNIX_SOCK=ON -DLWS_WITH_EXTERNAL_POLL=ON -DLWS_WITH_CUSTOM_HEADERS=ON -DLWS_ROLE_RAW_FILE=ON \
        -DLWS_HAVE_SYS_CAPABILITY_H=0 -DLWS_HAVE_LIBCAP=0 -DLWS_CTEST_INTERNET_AVAILABLE=OFF \
        -DLWS_SUPPRESS_DEPRECATED_API_WARNINGS=ON
}

build_zeromq()
{
    # Cross-compiling skips its run-time checks, which silently drops close-on-exec: preset what every Linux has.
    local preset
    preset=$(printf -- '-DZMQ_HAVE_%s=1 ' SOCK_CLOEXEC O_CLOEXEC EVENTFD_CLOEXEC GETRANDOM SO_BINDTODEVICE SO_KEEPALIVE \
        SO_PRIORITY TCP_KEEPALIVE TCP_KEEPCNT TCP_KEEPIDLE TCP_KEEPINTVL)
    # shellcheck disable=SC2086
    with_cmake zeromq $preset -DCMAKE_POLICY_VERSION_MINIMUM=3.5 -DPOLLER=epoll -DWITH_LIBSODIUM=OFF -DENABLE_CURVE=OFF \
        -DENABLE_WS=OFF -DENABLE_DRAFTS=OFF -DWITH_TLS=OFF -DWITH_LIBBSD=OFF -DWITH_VMCI=OFF -DWITH_NORM=OFF \
        -DWITH_OPENPGM=OFF -DWITH_DOCS=OFF -DWITH_DOC=OFF -DWITH_PERF_TOOL=OFF -DBUILD_SHARED=OFF -DBUILD_STATIC=ON \
        -DBUILD_TESTS=OFF -DENABLE_CPACK=OFF -DENABLE_PRECOMPILED=OFF
}

build_libmicrohttpd()
{
    configured libmicrohttpd --disable-https --disable-doc --disable-examples --disable-tools --disable-curl \
        --disable-bauth --disable-dauth --disable-postprocessor --enable-epoll --enable-httpupgrade --enable-itc=eventfd
    make -j "$jobs" -C src/microhttpd libmicrohttpd.la
    make -C src/microhttpd install-libLTLIBRARIES
    make -C src/include install-includeHEADERS
}

# Ed25519 alone, of what is one file a part: its configure script asks 300 questions, each a compiler's start, and builds 20 times as much.
# Without the sanitizers: with them it compiles for minutes.
build_libsodium()
{
    local from=$work/libsodium/src/libsodium name flags_c=${flags_c/-fsanitize=address/} version
    version=$(awk '$1 == "libsodium" { print $2; exit }' "$here/PINS")
    sed "s/@VERSION@/$version/; s/@SODIUM_LIBRARY_VERSION_M[AI][JN]OR@/0/; s/@SODIUM_LIBRARY_MINIMAL_DEF@/#define SODIUM_LIBRARY_MINIMAL 1/" \
        "$from/include/sodium/version.h.in" > "$from/include/sodium/version.h"
    # sodium_init() would want every part, for the one function that these need of its file.
    printf '#include <stdlib.h>\nvoid sodium_misuse(void);\nvoid sodium_misuse(void) { abort(); }\n' > "$from/sodium/misuse.c"
    for name in crypto_sign/ed25519/sign_ed25519 crypto_sign/ed25519/ref10/{keypair,open,sign} crypto_core/ed25519/ref10/ed25519_ref10 \
        crypto_hash/sha512/hash_sha512 crypto_hash/sha512/cp/hash_sha512_cp crypto_verify/verify \
        crypto_stream/chacha20/stream_chacha20 crypto_stream/chacha20/ref/chacha20_ref \
        randombytes/randombytes randombytes/sysrandom/randombytes_sysrandom sodium/{misuse,runtime,utils}; do
        # Both machines have 128-bit integers and the smaller end first.
        # shellcheck disable=SC2086
        "$CC" $flags_c -DCONFIGURED=1 -DSODIUM_STATIC -DHAVE_TI_MODE=1 -DNATIVE_LITTLE_ENDIAN=1 \
            -DHAVE_WEAK_SYMBOLS=1 -DHAVE_INLINE_ASM=1 -DHAVE_EXPLICIT_BZERO=1 -DHAVE_LINUX_COMPATIBLE_GETRANDOM=1 -DHAVE_SYS_RANDOM_H=1 -I"$from/include/sodium" -I"$from/include" \
            -c "$from/$name.c" -o "$work/sodium-${name##*/}.o"
    done
    "$AR" rcs "$part/lib/libsodium.a" "$work"/sodium-*.o
    cp -r "$from/include/sodium" "$part/include/"
}

# configured NAME OPTION... - the configure script of a library, static, in a folder of its own, where it leaves the caller.
configured()
{
    local name=$1 host=()
    shift
    if [ "$cross" = yes ]; then host=(--host="$target" --build="$(uname -m)-linux-gnu"); fi
    mkdir -p "$work/$name.build"
    cd "$work/$name.build"
    CFLAGS=$flags_c "$work/$name/configure" "${host[@]}" --prefix="$part" --libdir="$part/lib" --disable-shared --enable-static "$@"
}

build_nghttp2()
{
    with_cmake nghttp2 -DENABLE_LIB_ONLY=ON -DENABLE_DOC=OFF -DBUILD_TESTING=OFF -DBUILD_STATIC_LIBS=ON
}

# with_cmake NAME OPTION... - configure, compile and install one CMake project that finds nothing outside our prefix.
with_cmake()
{
    local name=$1 system=()
    shift
    if [ "$cross" = yes ]; then
        system=(-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="${target%%-*}")
    fi
    cmake -G Ninja -S "$work/$name" -B "$work/$name.build" "${system[@]}" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_AR="$(command -v "$AR")" -DCMAKE_RANLIB="$(command -v "$RANLIB")" \
        -DCMAKE_C_FLAGS="$flags_c" -DCMAKE_CXX_FLAGS="$flags_cxx" -DCMAKE_C_FLAGS_RELEASE= -DCMAKE_CXX_FLAGS_RELEASE= \
        -DCMAKE_INSTALL_PREFIX="$part" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_PREFIX_PATH="$part" -DCMAKE_FIND_ROOT_PATH="$part" \
        -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY \
        -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON "$@"
    ninja -j "$jobs" -C "$work/$name.build" install
}

# The libraries' own .pc files name dynamic dependencies and absolute paths; these are all alike and can be moved.
write_pc_files()
{
    pc libcjson cjson '-lcjson -lm' '-DCJSON_NESTING_LIMIT=128'
    pc zlib zlib '-lz'
    pc mbedcrypto mbedtls '-lmbedcrypto'
    pc mbedtls mbedtls '-lmbedtls -lmbedx509 -lmbedcrypto'
    pc libcurl curl '-lcurl -lmbedtls -lmbedx509 -lmbedcrypto -lpthread' '-DCURL_STATICLIB'
    pc libwebsockets libwebsockets '-lwebsockets -lpthread'
    pc libzmq zeromq "-lzmq $cxxlib -lpthread" '-DZMQ_STATIC'
    pc libmicrohttpd libmicrohttpd '-lmicrohttpd -lpthread'
    pc libsodium libsodium '-lsodium'
    pc libnghttp2 nghttp2 '-lnghttp2' '-DNGHTTP2_STATICLIB'
}

# pc FILE NAME LIBS [CFLAGS]
pc()
{
    printf '%s\n' "prefix=\${pcfiledir}/../.." "Name: $1" "Description: $2, static, built from third_party/PINS" \
        "Version: $(awk -v n="$2" '$1 == n { print $2; exit }' "$here/PINS")" \
        "Libs: -L\${prefix}/lib $3" "Cflags: -I\${prefix}/include ${4:-}" > "$part/lib/pkgconfig/$1.pc"
}

die()
{
    printf 'deps: %s\n' "$*" >&2
    exit 1
}

main "$@"
