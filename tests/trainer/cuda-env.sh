# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# For the tests of --device cuda, by `.`: the driver they run on. SOFTCUDA
# names the folder of the software driver; SOFTCUDA=none takes the machine's
# own, on a GPU.

case ${SOFTCUDA:=../softcuda} in
none) ;;
*)
	for dir in "$SOFTCUDA" "$SOFTCUDA/.libs"; do
		[ -e "$dir/libcuda.so.1" ] && driver=$dir
	done
	if [ -z "$driver" ]; then
		echo "skipped: no libcuda.so.1 in $SOFTCUDA; name its folder" \
			"in SOFTCUDA"
		exit 77
	fi
	LD_LIBRARY_PATH=$driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	export LD_LIBRARY_PATH
	;;
esac
