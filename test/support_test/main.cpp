#define BOOST_TEST_MODULE support
#include <boost/test/included/unit_test.hpp>
