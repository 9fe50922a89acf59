// Everything in one include.
#pragma once

#include <callgate/error.h>
#include <callgate/json.h>
#include <callgate/schema.h>
