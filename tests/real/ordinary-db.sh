#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
exec bash "${top_srcdir:?}/tests/real/ordinary.sh" db
