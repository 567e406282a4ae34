#define BOOST_TEST_MODULE component
#include <boost/test/included/unit_test.hpp>
