#define BOOST_TEST_MODULE memory
#include <boost/test/included/unit_test.hpp>
